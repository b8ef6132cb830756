import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { openSqliteStore } from '../../src/daemon/store/kernels/sqlite/store.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { Gate } from '../support/gate.ts';
import { inParallel } from '../support/pool.ts';
import { RawConnection, rawPost } from '../support/raw-http.ts';
import { type ShownSession, showSession } from '../support/session-view.ts';
import { token } from '../support/tokens.ts';
import { type Answer, post } from '../support/webchat.ts';

const RUNTIME = resolve(import.meta.dirname, 'runtimes/gated.mjs');

async function loaded(env: Record<string, string>): Promise<{ daemon: Agentd; gate: Gate }> {
  const gate = await Gate.open();
  onTestFinished(() => gate.close());
  const daemon = await startAgentd({
    env: { AGENT_RUNTIME: RUNTIME, GATE_URL: gate.url, LOOP_GUARD_ENABLED: 'false', ...env },
  });
  onTestFinished(async () => void (await daemon.stop()));
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

it('if several clients share a session, the daemon keeps the order of each client, and runs one message at a time', async () => {
  const { daemon } = await loaded({});
  const clients = await Promise.all(numbered(8).map(() => RawConnection.open(daemon.url)));
  await Promise.all(
    clients.map((client, index) =>
      client.write(
        numbered(10)
          .map((number) =>
            rawPost('/webchat/message', {
              user_id: 'ada',
              session_id: 'shared',
              message: `client ${index} number ${number}`,
            }),
          )
          .join(''),
      ),
    ),
  );
  const answers = await Promise.all(clients.map((client) => client.responses(10)));
  await Promise.all(clients.map((client) => client.cut()));

  const replies = answers.flat().map(({ body }) => String(JSON.parse(String(body)).response));
  expect(replies).toHaveLength(80);
  expect(replies.filter((reply) => !reply.startsWith('running 1: '))).toEqual([]);
  const texts = textsOf(await showSession(daemon, 'shared'));
  expect(texts).toHaveLength(80);
  for (const index of clients.keys()) {
    const own = texts.filter((text) => text.startsWith(`client ${index} `));
    expect(own).toEqual(numbered(10).map((number) => `client ${index} number ${number}`));
  }
});

it('the daemon runs as many sessions in parallel as AGENT_CONCURRENCY allows, and no more', async () => {
  const { daemon } = await loaded({ AGENT_CONCURRENCY: '4' });
  const answers = await inParallel(numbered(200), 100, (number) =>
    post(daemon.url, { user_id: `user-${number}`, message: 'hello' }),
  );

  expect(answers.map(({ status }) => status).filter((status) => status !== 200)).toEqual([]);
  const at_once = answers.map(({ body }) => Number(/^running (\d+)/.exec(body.response)?.[1]));
  expect(Math.max(...at_once)).toBe(4);
});

function expectUnavailable(answer: Answer): void {
  expect(answer.status).toBe(503);
  expect(answer.body.code).toBe('unavailable');
  expect(Number(answer.headers.get('Retry-After'))).toBeGreaterThan(0);
}

it('the daemon refuses a message with 503 if AGENT_QUEUE_MAX messages are waiting, and answers the waiting messages', async () => {
  const { daemon, gate } = await loaded({ AGENT_CONCURRENCY: '1', AGENT_QUEUE_MAX: '2' });
  const holding = post(daemon.url, { user_id: 'first', message: 'hold' });
  await gate.waiting(1);

  const later: Promise<Answer>[] = numbered(6).map((number) =>
    post(daemon.url, { user_id: `later-${number}`, message: 'hello' }),
  );
  // Four messages are refused while the other two wait.
  const refused: Answer[] = [];
  await new Promise<void>((resolve) => {
    for (const answer of later) {
      void answer.then((early) => {
        if (refused.push(early) === 4) resolve();
      });
    }
  });
  refused.forEach(expectUnavailable);
  expect(refused[0]?.body.detail).toBe('Too many messages are waiting for an answer.');
  gate.release();

  expect((await holding).status).toBe(200);
  const statuses = (await Promise.all(later)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, 200, 503, 503, 503, 503]);
});

it('the daemon refuses a message with 503 if it has waited for AGENT_QUEUE_WAIT_SECONDS, for a run or for its session', async () => {
  const { daemon, gate } = await loaded({ AGENT_CONCURRENCY: '1', AGENT_QUEUE_WAIT_SECONDS: '1' });
  const holding = post(daemon.url, { user_id: 'first', session_id: 'held', message: 'hold' });
  await gate.waiting(1);

  const [forRun, forSession] = await Promise.all([
    post(daemon.url, { user_id: 'second', message: 'hello' }),
    post(daemon.url, { user_id: 'first', session_id: 'held', message: 'hello' }),
  ]);
  expectUnavailable(forRun);
  expectUnavailable(forSession);
  gate.release();
  expect((await holding).status).toBe(200);
  expect((await post(daemon.url, { user_id: 'second', message: 'hello' })).status).toBe(200);
});

it('the daemon accepts exactly as many of 100 simultaneous requests as the rate limit allows', async () => {
  const { daemon } = await loaded({ RATE_LIMIT_ANONYMOUS_MAX: '20', RATE_LIMIT_TOKEN_MAX: '30' });
  const bearer = await token({ sub: 'ada' });
  const forged = await token({ sub: 'ada', secret: 'another secret than the one of the site' });
  const statusesOf = async (send: (number: number) => Promise<Answer>) => {
    const answers = await Promise.all(numbered(100).map(send));
    return Object.groupBy(answers, ({ status }) => status);
  };

  // All requests count toward the limit of one address, whatever `user_id` they have, and even if their token is
  // forged.
  const anonymous = await statusesOf((number) =>
    post(daemon.url, { user_id: `user-${number}`, message: 'hello' }, number % 2 ? { bearer: forged } : {}),
  );
  expect(anonymous[200]).toHaveLength(20);
  expect(anonymous[429]).toHaveLength(80);
  const person = await statusesOf((number) =>
    post(daemon.url, number % 2 ? { user_id: `user-${number}`, message: 'hello' } : '{', { bearer }),
  );
  expect((person[200]?.length ?? 0) + (person[400]?.length ?? 0)).toBe(30);
  expect(person[429]).toHaveLength(70);
  for (const { body, headers } of [...(anonymous[429] ?? []), ...(person[429] ?? [])]) {
    expect(body.code).toBe('rate_limited');
    expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
  }
});

it('the rate limit is an exact sliding window for every interleaving of hits, keys and time', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-limits-'));
  let now = 1_000_000;
  const store = openSqliteStore(join(directory, 'agentd.db'), {
    role: 'daemon',
    clock: { now: () => now },
    traceRetentionMs: 1000,
  });
  onTestFinished(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const window_ms = 1000;
  const steps = fc.array(
    fc.record({
      pass_ms: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 400 }), fc.constant(window_ms)),
      hits: fc.array(fc.constantFrom('ada', 'bob'), { maxLength: 8 }),
    }),
    { maxLength: 12 },
  );
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 6 }), steps, async (max, sequence) => {
      run++;
      const counted = new Map<string, number[]>();
      for (const { pass_ms, hits } of sequence) {
        now += pass_ms;
        const expected = hits.map((key) => {
          const recent = (counted.get(key) ?? []).filter((at) => at > now - window_ms);
          const allowed = recent.length < max;
          counted.set(key, allowed ? [...recent, now] : recent);
          return allowed;
        });
        const states = await Promise.all(
          hits.map((key) => store.limits.hit(`${run}:${key}`, { max, window_ms })),
        );
        expect(states.map(({ allowed }) => allowed)).toEqual(expected);
      }
    }),
    { seed: 20_250_103, numRuns: 60 },
  );
});

it('the daemon acknowledges 200 webhooks that arrive at once while no run can end, and answers all of them later', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-load-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const exchange = await FakeExchange.start();
  onTestFinished(() => exchange.close());
  // The loop guard is on: it must decide, and store its verdict, before each acknowledgement.
  const { daemon, gate } = await loaded({
    ...exchange.env(directory),
    AGENT_RUNTIME: RUNTIME,
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
  const answers = await Promise.all(numbered(200).map(tell));
  const took = performance.now() - began;
  expect(answers.map(({ status }) => status)).toEqual(numbered(200).map(() => 200));
  expect(exchange.taken).toEqual([]);
  // Platforms wait three seconds for an answer. The bound is larger, because the machine of the tests may be busy.
  expect(took).toBeLessThan(20_000);

  const all = exchange.until(() => exchange.taken.length === 200);
  for (let released = 0; released < 200; released += 16) {
    await gate.waiting(Math.min(16, 200 - released));
    gate.release();
  }
  await all;
  for (const number of numbered(200)) {
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
