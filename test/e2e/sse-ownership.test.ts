import { beforeAll, expect, it } from 'vitest';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { Dictation } from '../support/dictation.ts';
import { type ReadOptions, readAll, start } from '../support/event-stream.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-message(7), "Whose stream it is". A browser sends a cookie even if it follows a link that somebody else
// made.

let daemon: DaemonHere;
let [ada, bob] = ['', ''];

beforeAll(async () => {
  const dictation = await Dictation.start();
  daemon = await startDaemonHere({ env: { ...dictation.env, SSE_ENABLED: 'true' } });
  [ada, bob] = await Promise.all([token({ sub: 'ada' }), token({ sub: 'bob' })]);
});

const cookie = (value: string) => ({ Cookie: `jwt_token=${value}` });

/** Starts a stream. Its answer shows for whom its run acts. */
function me(body: object = {}, headers: Record<string, string> = {}): Promise<string> {
  return start(daemon.url, { user_id: 'u', message: 'me', ...body }, headers);
}

/** Returns the answer of the agent, or the code of the problem. */
async function reply(stream_id: string, options: ReadOptions = {}): Promise<string> {
  const { status, events, text } = await readAll(daemon.url, stream_id, options);
  return status === 200 ? events.at(-1)?.data.response : JSON.parse(text).code;
}

it('a cookie counts only if the message came with a cookie of the same person', async () => {
  const headers = cookie(ada);
  expect(await reply(await me({}, headers), { headers })).toBe('ada@example.com');
  expect(await reply(await me(), { headers })).toBe('nobody');
  expect(await reply(await me({}, cookie(bob)), { headers })).toBe('nobody');
});

it('a stream in the session of a person is refused to the cookie of somebody else, even if the session stores a sign-in', async () => {
  const { session_id } = (await post(daemon.url, { user_id: 'u', message: 'me', jwt_token: ada })).body;
  const stream_id = await me({ session_id });
  expect(await reply(stream_id, { headers: cookie(bob) })).toBe('forbidden');
  expect(await reply(stream_id)).toBe('ada@example.com');
});

it('a stream that got its owner from the token in its address can be read and stopped, and its answer repeated, only with a token of that person', async () => {
  const headers = { 'Idempotency-Key': 'mine' };
  const stream_id = await me({}, headers);
  expect(await reply(stream_id, { query: `token=${ada}` })).toBe('ada@example.com');
  for (const query of ['', `token=${bob}`])
    for (const method of ['GET', 'DELETE'])
      expect(await reply(stream_id, { query, method })).toBe('forbidden');
  const { body } = await post(daemon.url, { user_id: 'u', message: 'me' }, { headers });
  expect(body.code).toBe('session_forbidden');
  expect(await reply(stream_id, { query: `token=${ada}` })).toBe('ada@example.com');
  expect((await readAll(daemon.url, stream_id, { query: `token=${ada}`, method: 'DELETE' })).status).toBe(
    204,
  );
});

it('a stream can be neither read nor stopped by following a link', async () => {
  const stream_id = await me();
  const headers = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Site': 'cross-site' };
  expect(await reply(stream_id, { headers })).toBe('forbidden');
  expect(await reply(stream_id, { headers, method: 'DELETE' })).toBe('forbidden');
  expect(await reply(stream_id)).toBe('nobody');
});
