import { expect, it, onTestFinished } from 'vitest';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { Dictation } from '../support/dictation.ts';
import { readAll, start } from '../support/event-stream.ts';
import { Gate } from '../support/gate.ts';

/** A daemon that fetches the keys for tokens from the gate, so that the test controls how long a token check takes. */
async function slowToCheckTokens(env: Record<string, string> = {}): Promise<{ daemon: Agentd; gate: Gate }> {
  const [gate, dictation] = await Promise.all([Gate.open(), Dictation.start()]);
  const daemon = await startAgentd({
    env: {
      ...dictation.env,
      SSE_ENABLED: 'true',
      JWT_ALGORITHM: 'RS256',
      JWT_SECRET_KEY: '',
      JWT_JWKS_URL: gate.url,
      ...env,
    },
  });
  onTestFinished(async () => {
    await daemon.stop();
    await gate.close();
    await dictation.close();
  });
  return { daemon, gate };
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = { sub: 'ada', email: 'ada@example.com', exp: Math.floor(Date.now() / 1000) + 3600 };
/** A token with an invalid signature. The daemon can find that out only after it has fetched the key. */
const TOKEN = `${encoded({ alg: 'RS256', kid: 'k' })}.${encoded(claims)}.c2lnbmF0dXJl`;

it.each(['/webchat/message', '/sse/chat'])(
  'messages to %s pass the loop guard in the order of their arrival',
  async (path) => {
    const { daemon, gate } = await slowToCheckTokens({
      LOOP_GUARD_ENABLED: 'true',
      LOOP_GUARD_MAX_TURNS_PER_SESSION: '1',
    });
    const send = async (body: object) => {
      const response = await fetch(`${daemon.url}${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ user_id: 'ada', message: 'me', ...body }),
      });
      return response.status;
    };
    const first = send({ session_id: 'one', jwt_token: TOKEN });
    await gate.waiting(1);
    const second = send({ session_id: 'one' });
    // When these messages are answered, the daemon has processed the second message as far as it can.
    for (const id of ['a', 'b', 'c']) expect(await send({ user_id: id, session_id: id })).toBe(200);
    gate.release();
    expect([await first, await second]).toEqual([200, 429]);
  },
);

it('streams of one session are answered in the order in which they are opened', async () => {
  const { daemon, gate } = await slowToCheckTokens();
  const kept = (message: string, session_id: string) =>
    start(daemon.url, { user_id: 'ada', message, session_id });
  const [one, two, other] = [
    await kept('count 1', 'one'),
    await kept('history', 'one'),
    await kept('me', 'another'),
  ];
  const first = readAll(daemon.url, one, { query: `token=${TOKEN}` });
  await gate.waiting(1);
  const second = readAll(daemon.url, two);
  expect((await readAll(daemon.url, other)).events.at(-1)?.data.response).toBe('nobody');
  gate.release();
  expect((await first).events.at(-1)?.data.response).toBe('word1 ');
  expect((await second).events.at(-1)?.data.response).toBe('[["count 1","word1 "]]');
});
