import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { startAgentd } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { effort } from '../support/effort.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { seededRandom } from '../support/random.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type Answer, post } from '../support/webchat.ts';

let exchange: FakeExchange;
/** The daemon for all tests that need no special settings. */
let shared: DaemonHere;
let tests = 0;

beforeAll(async () => {
  exchange = await FakeExchange.start();
  shared = await startIn(newDirectory());
});

beforeEach(() => {
  tests++;
  exchange.forget();
  shared.forget();
});

const newDirectory = () => temporaryFolder('later');

function startIn(directory: string, env: Record<string, string> = {}): Promise<DaemonHere> {
  return startDaemonHere({ directory, env: { ...exchange.env(directory), ...env } });
}

/** Starts a daemon for one test, in a new directory or in the directory of an earlier daemon. */
function start(env: Record<string, string> = {}, before?: DaemonHere): Promise<DaemonHere> {
  return startIn(before?.directory ?? newDirectory(), env);
}

/** Runs a command while a daemon runs. */
function run({ directory }: DaemonHere, ...args: string[]): ReturnType<typeof command> {
  return command(args, { env: { ...exchange.env(directory), STATE_DIR: join(directory, 'state') } });
}

/** Makes the id of a person, thread or message unique to this test. */
function own(name: string): string {
  return `${name}_${tests}`;
}

interface Said {
  id?: string;
  user?: string;
  alias?: string;
  thread?: string;
  text: string;
  shared?: boolean;
  metadata?: object;
}

function deliver({ url }: DaemonHere, body: object, headers: Record<string, string> = {}): Promise<Answer> {
  return post(url, body, { path: '/telex', headers });
}

function tell(to: DaemonHere, ...messages: Said[]): Promise<Answer> {
  const sent = messages.map(({ id, user = 'u1', alias, thread = 't1', ...said }) => ({
    ...said,
    user: own(user),
    thread: own(thread),
    ...(id === undefined ? {} : { id: own(id) }),
    ...(alias === undefined ? {} : { alias: own(alias) }),
  }));
  return deliver(to, { messages: sent });
}

describe('a message of a channel that answers later', () => {
  it('is answered through the platform, after the 200 response and a typing indicator', async () => {
    const to = shared;
    const answer = await post(
      to.url,
      { messages: [{ id: own('m1'), user: own('u1'), thread: own('t1'), text: ' hello ' }] },
      { path: '/telex', headers: { 'X-Request-Id': 'request-7' } },
    );
    expect(answer.status).toBe(200);
    await exchange.until(() => exchange.taken.length === 1);
    expect(exchange.taken[0]).toMatchObject({
      to: own('t1'),
      text: 're: hello',
      session_id: `telex:${own('t1')}`,
    });
    expect(exchange.typed).toContain(own('t1'));
    await to.logged((line) => line.msg === 'message answered' && line.request_id === 'request-7');
    // The trace is stored after the reply was sent.
    await expect
      .poll(async () => JSON.parse((await run(to, 'explain', `telex:${own('m1')}`, '--json')).stdout))
      .toMatchObject({
        traces: [{ message_id: own('m1'), request_id: 'request-7', outcome: 'answered' }],
      });
  });
});

describe('when the daemon is stopped or killed', () => {
  it('it finishes current runs, stores the other messages, exits with 0, and answers them after the next start', async () => {
    const to = await start({ AGENT_CONCURRENCY: '1', SHUTDOWN_GRACE_SECONDS: '25' });
    await tell(to, { text: 'wait 300 first' }, { text: 'second' });
    await tell(to, { thread: 't2', text: 'third' });
    await exchange.until(() => exchange.runs.length === 1);
    expect(await to.stop()).toBe(0);
    expect(exchange.taken.map(({ text }) => text)).toEqual(['re: wait 300 first']);
    await start({ AGENT_CONCURRENCY: '1' }, to);
    await exchange.until(() => exchange.taken.length === 3);
    expect(exchange.runs).toHaveLength(3);
  });

  it('it answers each acknowledged message, in order, and a kill repeats at most one per session', async () => {
    const kills = effort(1, 6);
    const acknowledged = new Map<string, string[]>();
    let number = 0;
    let count = 0;
    let killAt = Number.POSITIVE_INFINITY;
    let killNow = () => {};
    let ending = false;
    const directory = newDirectory();
    const startProcess = () => startAgentd({ directory, env: exchange.env(directory) });
    let to = await startProcess();
    let goOn = () => {};
    let started: Promise<void> = Promise.resolve();
    const load = Array.from({ length: 8 }, async (_, thread) => {
      while (!ending) {
        const text = `wait 5 ${++number}`;
        const place = own(`s${thread}`);
        try {
          const { status } = await tell(to, { id: text, thread: `s${thread}`, text });
          if (status !== 200) continue;
          acknowledged.set(place, [...(acknowledged.get(place) ?? []), text]);
          if (++count >= killAt) killNow();
        } catch {
          // The daemon was killed before the acknowledgement. A platform would deliver the message again. This test
          // does not.
          await started;
        }
      }
    });
    const random = seededRandom(1);
    for (let kill = 0; kill < kills; kill++) {
      // The daemon is killed after a number of acknowledgements, not after a time, so that a busy machine does not make
      // the test easier.
      await new Promise<void>((resolve) => {
        killAt = count + 10 + random.below(20);
        killNow = resolve;
      });
      started = new Promise((resolve) => {
        goOn = resolve;
      });
      await to.stop('SIGKILL');
      to = await startProcess();
      goOn();
    }
    ending = true;
    await Promise.all(load);
    const wanted = [...acknowledged].flatMap(([place, texts]) =>
      texts.map((text) => ({ place, answer: `re: ${text}` })),
    );
    await exchange.until(() => wanted.every(({ place, answer }) => exchange.textsTo(place).includes(answer)));

    for (const [place, texts] of acknowledged) {
      const firsts = [...new Set(exchange.textsTo(place))].filter((text) => texts.includes(text.slice(4)));
      expect(firsts).toEqual(texts.map((text) => `re: ${text}`));
    }
    // A message that was in progress at a kill may be answered twice: at most one message per session.
    const twice = (texts: string[]) => texts.length - new Set(texts).size;
    expect(wanted.length).toBeGreaterThan(kills * 8);
    expect(twice(exchange.taken.map(({ text }) => text))).toBeLessThanOrEqual(kills * 8);
    expect(twice(exchange.runs.map(({ text }) => text))).toBeLessThanOrEqual(kills * 8);
  });
});
