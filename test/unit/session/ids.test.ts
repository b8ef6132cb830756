import { expect, it } from 'vitest';
import { generateSessionId, isChannelSessionId, shortId } from '../../../src/daemon/session/session.ts';

it('generated ids have the documented form, contain 128 random bits, and never repeat', () => {
  const ids = new Set(Array.from({ length: 1000 }, () => generateSessionId('webchat', 'ada')));
  expect(ids.size).toBe(1000);
  for (const id of ids) expect(id).toMatch(/^webchat_ada_[A-Za-z0-9_-]{22}$/);
});

it('a session id of a channel that names its own sessions is recognized', () => {
  expect(isChannelSessionId('teamchat:T1:C1:1.2', [])).toBe(true);
  expect(isChannelSessionId('telex:42', ['telex'])).toBe(true);
  expect(isChannelSessionId('telex:42', [])).toBe(false);
  expect(isChannelSessionId('user:42', ['webchat'])).toBe(false);
  expect(isChannelSessionId('teamchat', [])).toBe(false);
  expect(isChannelSessionId(':', [''])).toBe(false);
});

it('only six characters of the random part of a generated id are shown, even if the id is part of a path', () => {
  for (let round = 0; round < 200; round++) {
    const id = generateSessionId('webchat', 'a_b');
    const random = id.slice(-22);
    const short = shortId(id);
    expect(short).toBe(`webchat_a_b_${random.slice(0, 6)}…`);
    expect(shortId(`/sse/stream/sse_${random}`)).toBe(`/sse/stream/sse_${random.slice(0, 6)}…`);
  }
  expect(shortId('support-42')).toBe('support-42');
});
