import { describe, expect, it } from 'vitest';
import { describeRefusal } from '../../../../src/cli/chat/stream-client.ts';
import type { ErrorCode } from '../../../../src/daemon/errors.ts';

describe('the description of a refusal', () => {
  it.each([
    [{ code: 'rate_limited' }, 429, 42, 1, 'you can send the next message in 42 s'],
    [
      { code: 'loop_guard_blocked', reason: 'rate_limit' },
      429,
      30,
      1,
      'too many messages in a short time; it unblocks you in 30 s',
    ],
    [
      { code: 'loop_guard_blocked', reason: 'repetition' },
      429,
      90,
      1,
      'the same message was sent too often; it unblocks you in 1 min 30 s',
    ],
    [
      { code: 'loop_guard_blocked', reason: 'turn_limit' },
      429,
      0,
      1,
      'this conversation: it has reached its message limit',
    ],
    [{ code: 'session_forbidden' }, 403, 0, 1, 'this conversation belongs to another person'],
    [{ code: 'token_missing' }, 401, 0, 1, 'requires a token (SSE_REQUIRE_TOKEN)'],
    [{ code: 'unavailable' }, 503, 5, 69, 'it may answer again in 5 s'],
    [{ code: 'unavailable' }, 503, 0, 69, 'it may answer again later'],
  ])('matches the refusal %j', (problem, status, wait, exitCode, words) => {
    const error = describeRefusal(problem, status, wait);
    expect(error).toMatchObject({ exitCode, message: expect.stringContaining(words) });
    expect(error.advice).toMatch(/^[A-Z].*\.$/);
  });

  it('names the invalid fields', () => {
    const errors = [{ field: 'message', message: 'is longer than 16000 characters' }, null];
    const { message } = describeRefusal({ code: 'invalid_request', detail: 'no', errors }, 400, 0);
    expect(message).toBe(
      'the daemon refused the message (status 400): `message` is longer than 16000 characters',
    );
  });

  it('contains no control characters from the daemon', () => {
    const { message, advice } = describeRefusal(
      { code: 'new', detail: '\u{1b}[2Jx', request_id: '\u{1b}c' },
      418,
      0,
    );
    expect(message).toBe('the daemon refused the message (status 418): \u{fffd}[2Jx');
    expect(advice).toContain('`agentd explain \u{fffd}c`');
  });

  it.each<ErrorCode>([
    'token_missing',
    'session_forbidden',
    'stream_not_found',
    'body_too_large',
    'rate_limited',
    'too_many_readers',
    'internal_error',
    'agent_failed',
    'unavailable',
    'agent_timeout',
  ])('is specific to the error code %s', (code) => {
    expect(describeRefusal({ code, detail: 'no' }, 400, 0).message).not.toMatch(
      /^the daemon refused|undefined/,
    );
  });
});
