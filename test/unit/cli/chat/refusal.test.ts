import { describe, expect, it } from 'vitest';
import { refusal } from '../../../../src/cli/chat/refusal.ts';
import type { ErrorCode } from '../../../../src/daemon/errors.ts';

describe('a refusal in words', () => {
  it.each([
    [{ code: 'rate_limited' }, 429, 42, 1, 'the next one is answered in 42 s'],
    [
      { code: 'loop_guard_blocked', reason: 'rate_limit' },
      429,
      30,
      1,
      'too many messages in a short time; it lets you through again in 30 s',
    ],
    [
      { code: 'loop_guard_blocked', reason: 'repetition' },
      429,
      90,
      1,
      'the same message came too often; it lets you through again in 1 min 30 s',
    ],
    [
      { code: 'loop_guard_blocked', reason: 'turn_limit' },
      429,
      0,
      1,
      'this conversation: it has had as many messages',
    ],
    [{ code: 'session_forbidden' }, 403, 0, 1, 'this conversation belongs to somebody else'],
    [{ code: 'token_missing' }, 401, 0, 1, 'answers nobody without a token (SSE_REQUIRE_TOKEN)'],
    [{ code: 'unavailable' }, 503, 5, 69, 'it may answer again in 5 s'],
    [{ code: 'unavailable' }, 503, 0, 69, 'it may answer again later'],
  ])('%j', (problem, status, wait, exitCode, words) => {
    const error = refusal(problem, status, wait);
    expect(error).toMatchObject({ exitCode, message: expect.stringContaining(words) });
    expect(error.advice).toMatch(/^[A-Z].*\.$/);
  });

  it('names the fields that are wrong', () => {
    const errors = [{ field: 'message', message: 'is longer than 16000 characters' }, null];
    const { message } = refusal({ code: 'invalid_request', detail: 'no', errors }, 400, 0);
    expect(message).toBe(
      'the daemon refused the message (status 400): `message` is longer than 16000 characters',
    );
  });

  it('lets nothing that came from outside move the cursor', () => {
    const { message, advice } = refusal({ code: 'new', detail: '\u{1b}[2Jx', request_id: '\u{1b}c' }, 418, 0);
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
  ])('has its own words for %s', (code) => {
    expect(refusal({ code, detail: 'no' }, 400, 0).message).not.toMatch(/^the daemon refused|undefined/);
  });
});
