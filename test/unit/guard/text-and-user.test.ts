import { describe, expect, it } from 'vitest';
import { circuitLine, duplicateLine, turnLimitLine, verdictLine } from '../../../src/daemon/guard/verdict.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { guardUser, textHash } from '../../../src/daemon/message/keys.ts';

describe('textHash', () => {
  it.each([
    ['white space around', 'hello', '  hello\n'],
    ['white space within', 'a b', 'a \t\n\u00a0 b'],
    ['case', 'Hello World', 'hELLO wORLD'],
    ['a capital that becomes two letters', 'STRASSE', 'straße'],
    ['both capitals of ß', 'STRAẞE', 'straße'],
    ['a sigma at the end', 'ΟΔΟΣ', 'οδος'],
    ['an i with a dot', 'İ', 'i\u0307'],
    ['letters beyond the BMP', '𐐀', '𐐨'],
  ])('ignores differences in %s', (_what, one, other) => {
    expect(textHash(one)).toBe(textHash(other));
  });

  it.each([
    ['a b', 'ab'],
    ['a', 'a.'],
    ['e', 'é'],
    ['1', '2'],
  ])('distinguishes %s and %s', (one, other) => {
    expect(textHash(one)).not.toBe(textHash(other));
  });

  it('reveals nothing about the text', () => {
    expect(textHash('hello')).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });
});

describe('guardUser', () => {
  const client = { platform: 'chat', user_id: 'ada', person: null, address: '192.0.2.1' };
  const ada = personKey({ sub: 'ada' });

  it('is the person of a valid token, whatever the user id and the address are', () => {
    const key = guardUser({ platform: 'chat', user_id: 'x', person: ada, address: null }).key;
    expect(guardUser({ ...client, person: ada }).key).toBe(key);
    expect(guardUser({ ...client, person: personKey({ sub: 'ada', iss: 'other' }) }).key).not.toBe(key);
  });

  it('is different for each sender, whatever ids a client claims', () => {
    const keys = [
      client,
      { ...client, address: '192.0.2.2' },
      { ...client, user_id: 'bob' },
      { ...client, platform: 'other' },
      { ...client, address: null },
      { ...client, person: ada },
      { ...client, user_id: ada },
      { ...client, user_id: '","ada' },
    ].map((sender) => guardUser(sender).key);
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe('the log lines of the guard', () => {
  const user = { platform: 'chat', user_id: 'ada' };
  const open = { allowed: false, opened: true, blocked: 1, retry_after_ms: 1 } as const;

  it('have the documented form', () => {
    expect(duplicateLine(user, 'm1')).toBe('[LoopGuard] DUPLICATE platform=chat user=ada message_id=m1');
    expect(circuitLine(user, { ...open, reason: 'rate_limit', count: 6, max: 5 })).toBe(
      '[LoopGuard] CIRCUIT_OPEN reason=rate_limit 6/5 platform=chat user=ada',
    );
    expect(circuitLine(user, { ...open, reason: 'repetition', count: 3, max: 2 })).toBe(
      '[LoopGuard] CIRCUIT_OPEN reason=repetition count=3 platform=chat user=ada',
    );
  });

  it('have their counters in the trace, too', () => {
    expect(verdictLine({ ...open, repeated: false, reason: 'rate_limit', count: 6, max: 5 })).toEqual({
      reason: 'rate_limit',
      detail: { count: 6, max: 5, blocked: 1, retry_after_ms: 1 },
    });
  });

  it('quote an id that could be mistaken for several words', () => {
    const forged = { ...user, user_id: 'x message_id=1' };
    expect(duplicateLine(forged, 'm1')).toBe(
      '[LoopGuard] DUPLICATE platform=chat user="x message_id=1" message_id=m1',
    );
  });

  it('show at most six characters of the random part of a generated session id', () => {
    const limit = {
      allowed: false,
      reason: 'turn_limit',
      first: true,
      turns: 200,
      max: 200,
      blocked: 1,
      ends_at: 0,
    } as const;
    expect(turnLimitLine('s1', limit)).toBe('[LoopGuard] TURN_LIMIT session=s1 turns=200/200');
    expect(turnLimitLine('chat_ada_0123456789abcdefghijkl', limit)).toBe(
      '[LoopGuard] TURN_LIMIT session=chat_ada_012345… turns=200/200',
    );
  });
});
