import { describe, expect, it } from 'vitest';
import { AgentFailure } from '../../../src/daemon/agent/agent.ts';
import { AgentdError, StoreUnavailable } from '../../../src/daemon/errors.ts';
import {
  DeliveryFailed,
  describeDeliveryFailure,
  judgeRun,
  toPlatformFailure,
} from '../../../src/daemon/inbox/outcome.ts';
import { CommitUnknown } from '../../../src/daemon/store/failures.ts';
import { token } from '../../support/tokens.ts';

const agentFailed = (cause: unknown) => new AgentdError('agent_failed', 'The agent failed.', { cause });
const coded = (reason: string, passing: boolean, retryAfterSeconds?: number) =>
  agentFailed(new AgentFailure(reason, 'words', { passing, retryAfterSeconds }));
const network = (code: string) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('connect'), { code }) });

describe('a failed run', () => {
  it.each([
    [
      'a request that the model refused',
      coded('model_refused', false),
      'final',
      'agent_failed: model_refused',
    ],
    ['a message that was refused', new AgentdError('session_forbidden', 'no'), 'final', 'session_forbidden'],
    ['an overloaded model', coded('model_overloaded', true), 'passing', 'agent_failed: model_overloaded'],
    ['a run that took too long', new AgentdError('agent_timeout', 'slow'), 'passing', 'agent_timeout'],
    ['an unreachable store', new StoreUnavailable(new Error('disk full')), 'passing', 'unavailable'],
    [
      'a commit whose outcome is unknown',
      new CommitUnknown(new StoreUnavailable(new Error('connection reset'))),
      'passing',
      'unavailable',
    ],
    [
      'a runtime that could not reach its model',
      agentFailed(network('ECONNREFUSED')),
      'passing',
      'agent_failed',
    ],
    [
      'a runtime that reports a temporary failure',
      agentFailed(Object.assign(new Error('quota'), { passing: true })),
      'passing',
      'agent_failed',
    ],
    ['a runtime that threw an error', agentFailed(new Error('a defect')), 'counts', 'agent_failed'],
    [
      'a runtime with a wrong argument',
      agentFailed(network('ERR_INVALID_ARG_TYPE')),
      'counts',
      'agent_failed',
    ],
    ['an answer without text', coded('empty_reply', false), 'counts', 'agent_failed: empty_reply'],
    ['a defect', new TypeError('x is not a function'), 'counts', 'internal_error: TypeError'],
  ])('is classified correctly: %s', (_title, error, kind, failure) => {
    expect(judgeRun(error)).toEqual({ failure, kind, askedSeconds: 0 });
  });

  it('is reported with the wait that the model asks for, or 0 if that is negative', () => {
    expect(judgeRun(coded('model_overloaded', true, 30)).askedSeconds).toBe(30);
    expect(judgeRun(coded('model_overloaded', true, -1)).askedSeconds).toBe(0);
  });
});

describe('a failed delivery', () => {
  it('is described by the error text of the platform, shortened and without tokens', async () => {
    expect(describeDeliveryFailure('refused', new Error(`no ${await token()}`))).toBe(
      'delivery_refused: no [token]',
    );
    expect(describeDeliveryFailure('failed', new Error('x'.repeat(1000)))).toHaveLength(500);
    expect(describeDeliveryFailure('failed', 'busy')).toBe('delivery_failed: busy');
    expect(describeDeliveryFailure('failed', network('ECONNREFUSED'))).toBe('delivery_failed: fetch failed');
    // A defect of the channel: its author needs the line.
    expect(describeDeliveryFailure('failed', new TypeError('x is not a function'))).toMatch(
      /^delivery_failed: TypeError: x is not a function \(at \/.*outcome\.test\.ts:\d+\)$/,
    );
  });

  it('is recognized as a failure of the whole platform, or of one message', () => {
    const away = new DeliveryFailed('status 503', {
      final: false,
      retry_after_seconds: 7,
      platform: 'unreachable',
    });
    expect(toPlatformFailure(away)).toEqual({
      reason: 'unreachable',
      words: 'delivery_failed: status 503',
      askedSeconds: 7,
    });
    expect(toPlatformFailure(network('ECONNRESET'))).toMatchObject({ reason: 'unreachable' });
    expect(toPlatformFailure(new DOMException('late', 'TimeoutError'))).toMatchObject({
      reason: 'unreachable',
    });
    expect(toPlatformFailure(new DeliveryFailed('status 429', { final: false }))).toBeNull();
    expect(toPlatformFailure(new TypeError('x is not a function'))).toBeNull();
  });

  it('is never final if the whole platform fails', () => {
    expect(new DeliveryFailed('invalid_auth', { final: true, platform: 'credentials' }).final).toBe(false);
  });
});
