import { expect, it } from 'vitest';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { effort } from '../support/effort.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { Gate } from '../support/gate.ts';
import { inParallel } from '../support/pool.ts';
import { RawConnection, rawPost } from '../support/raw-http.ts';
import { sampleAgent } from '../support/sample-agent.ts';
import { type ShownSession, showSession } from '../support/session-view.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

async function loaded(env: Record<string, string>): Promise<{ daemon: DaemonHere; gate: Gate }> {
  const gate = await Gate.open();
  const daemon = await startDaemonHere({
    env: { LOOP_GUARD_ENABLED: 'false', ...env, AGENT_RUNTIME: sampleAgent('gated-agent.mjs', gate.url) },
  });
  return { daemon, gate };
}

const textsOf = (session: ShownSession) => session.turns.map(({ text }) => text);
const numbered = (count: number) => Array.from({ length: count }, (_, index) => index);

it('the daemon answers the messages of one session in the order of their arrival, with and without a token', async () => {
  const { daemon } = await loaded({});
  const bearer = await token({ sub: 'ada' });
  // On one connection the requests arrive in this order. The client sends all of them without waiting for an answer.
  const requests = numbered(60).map((number) =>
    rawPost(
      '/webchat/message',
      { user_id: 'ada', session_id: 'in-order', message: `number ${number}` },
      number % 3 === 0 ? { Authorization: `Bearer ${bearer}` } : {},
    ),
  );
  const connection = await RawConnection.open(daemon.url);
  await connection.write(requests.join(''));
  const answers = await connection.responses(60);
  await connection.cut();

  expect(answers.map(({ status }) => status)).toEqual(numbered(60).map(() => 200));
  const expected = numbered(60).map((number) => `number ${number}`);
  expect(answers.map(({ body }) => JSON.parse(String(body)).response)).toEqual(
    expected.map((text) => `running 1: ${text}`),
  );
  expect(textsOf(await showSession(daemon, 'in-order'))).toEqual(expected);
});

it('the daemon runs as many sessions in parallel as AGENT_CONCURRENCY allows, and no more', async () => {
  const { daemon } = await loaded({ AGENT_CONCURRENCY: '4' });
  const answers = await inParallel(numbered(effort(60, 200)), effort(30, 100), (number) =>
    post(daemon.url, { user_id: `user-${number}`, message: 'hello' }),
  );

  expect(answers.map(({ status }) => status).filter((status) => status !== 200)).toEqual([]);
  const at_once = answers.map(({ body }) => Number(/^running (\d+)/.exec(body.response)?.[1]));
  expect(Math.max(...at_once)).toBe(4);
});

const WEBHOOKS = effort(80, 200);

it('the daemon acknowledges many webhooks that arrive at once while no run can end, and answers all of them later', async () => {
  const directory = temporaryFolder('load');
  const exchange = await FakeExchange.start();
  // The loop guard is on: it must decide, and store its verdict, before each acknowledgement.
  const { daemon, gate } = await loaded({
    ...exchange.env(directory),
    AGENT_CONCURRENCY: '16',
    LOOP_GUARD_ENABLED: 'true',
  });
  const tell = (number: number) =>
    post(
      daemon.url,
      { messages: [{ id: `m${number}`, user: `u${number}`, thread: `t${number}`, text: `hold ${number}` }] },
      { path: '/telex' },
    );

  const began = performance.now();
  const answers = await Promise.all(numbered(WEBHOOKS).map(tell));
  const took = performance.now() - began;
  expect(answers.map(({ status }) => status)).toEqual(numbered(WEBHOOKS).map(() => 200));
  expect(exchange.taken).toEqual([]);
  // Platforms wait three seconds for an answer. The bound is larger, because the machine of the tests may be busy.
  expect(took).toBeLessThan(60_000);

  const all = exchange.until(() => exchange.taken.length === WEBHOOKS);
  for (let released = 0; released < WEBHOOKS; released += 16) {
    await gate.waiting(Math.min(16, WEBHOOKS - released));
    gate.release();
  }
  await all;
  for (const number of numbered(WEBHOOKS)) {
    expect(exchange.textsTo(`t${number}`)).toEqual([expect.stringMatching(new RegExp(`: hold ${number}$`))]);
  }
});

it('the daemon finishes the turns of disconnected clients, and then runs the waiting messages', async () => {
  const { daemon, gate } = await loaded({ AGENT_CONCURRENCY: '20' });
  const gone = await Promise.all(numbered(20).map(() => RawConnection.open(daemon.url)));
  await Promise.all(
    gone.map((client, index) =>
      client.write(
        rawPost('/webchat/message', { user_id: 'ada', session_id: `left-${index}`, message: 'hold this' }),
      ),
    ),
  );
  await gate.waiting(20);
  await Promise.all(gone.map((client) => client.cut()));
  gate.release();

  // Each message waits for the turn of a disconnected client in the same session.
  const after = await Promise.all(
    numbered(20).map((index) =>
      post(daemon.url, { user_id: 'ada', session_id: `left-${index}`, message: 'still there?' }),
    ),
  );
  expect(after.map(({ status }) => status)).toEqual(numbered(20).map(() => 200));
  for (const index of [0, 19]) {
    const { turns } = await showSession(daemon, `left-${index}`);
    expect(turns.map(({ text, outcome }) => [text, outcome])).toEqual([
      ['hold this', 'answered'],
      ['still there?', 'answered'],
    ]);
  }
});
