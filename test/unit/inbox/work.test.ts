import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import msgbot from '../../../plugins/msgbot/index.ts';
import type { AgentRuntime } from '../../../src/agent/index.ts';
import type { SimulatedEvent } from '../../../src/channel/index.ts';
import { AgentFailure } from '../../../src/daemon/agent/agent.ts';
import type { InboxMessage } from '../../../src/daemon/store/inbox/inbox.ts';
import { TEXTS } from '../../../src/daemon/texts/text-records.ts';
import { InboxProcess } from '../../support/inbox-process.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { VirtualPlatform } from '../../support/virtual-platform.ts';
import { fastStateDirectory } from '../store/state-directory.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
/** The interval at which the worker looks for messages that have become due, in ms. */
const POLL_MS = 500;

/** What a run does before it answers `re: <text>`: it may wait or throw. */
type Plan = (text: string, signal: AbortSignal) => void | Promise<void>;

let clock: VirtualClock;
let platform: VirtualPlatform;
let directory: string;
let plan: Plan;
let runs: string[];
let process: InboxProcess;
let number: number;

const agent: AgentRuntime = {
  apiVersion: 1,
  async *run({ text, signal }) {
    runs.push(text);
    await plan(text, signal);
    yield text.startsWith('long') ? `re: ${text}\n\n${LONG}` : `re: ${text}`;
  },
};
/** A text that becomes three messages on the platform. */
const LONG = ['a', 'b', 'c'].map((word) => `${word} `.repeat(1800).trim()).join('\n\n');

async function start(env: Record<string, string> = {}): Promise<InboxProcess> {
  process = await InboxProcess.start({ directory, clock, platforms: [platform], agent, env });
  const own = process;
  onTestFinished(() => own.kill());
  return process;
}

beforeEach(async () => {
  clock = new VirtualClock(Date.UTC(2030, 0, 1));
  platform = await VirtualPlatform.of(msgbot);
  directory = fastStateDirectory();
  plan = () => {};
  runs = [];
  number = 0;
});

/** A message of the person with this number, 1 or more. */
function event(person: number, text: string): SimulatedEvent {
  number++;
  return {
    kind: 'message',
    user: String(700_000_000 + person),
    text,
    place: 'direct',
    number,
    sent_at: clock.now(),
  };
}

const write = (person: number, text: string) => process.deliver('msgbot', event(person, text));
const answers = (person: number) => platform.textsFor({ ...event(person, ''), number: 1 });
const all = async (): Promise<InboxMessage[]> => {
  const states = ['waiting', 'running', 'replied', 'done', 'failed'] as const;
  return (await process.services.store.inbox.list({ states, limit: 100 })).reverse();
};
const pass = (ms: number) => process.passUntil(clock.now() + ms);
/** Records the time and the body of each call that sends a message. `answer` may replace the platform's answer. */
function watchCalls(answer: (count: number) => Response | Error | null): { at: number; body: string }[] {
  const calls: { at: number; body: string }[] = [];
  platform.outage = ({ path, body }) => {
    if (!path.endsWith('/sendMessage')) return null;
    calls.push({ at: clock.now(), body });
    return answer(calls.length);
  };
  return calls;
}
const status = (code: number, description: string, parameters: object = {}) =>
  new Response(JSON.stringify({ ok: false, error_code: code, description, parameters }), { status: code });

describe('a run that fails', () => {
  it('does not count as an attempt if the reason is temporary, and is repeated until the time limit', async () => {
    const at: number[] = [];
    plan = () => {
      at.push(clock.now());
      throw new AgentFailure('model_unreachable', 'away', { passing: true });
    };
    await start({ INBOX_MAX_ATTEMPTS: '1', INBOX_RUN_SECONDS: '600' });
    const began = clock.now();
    await write(1, 'hello');
    await pass(HOUR);
    const waits = at.slice(1).map((time, index) => time - (at[index] ?? 0));
    expect(waits[0]).toBeLessThanOrEqual(1000);
    expect(Math.max(...waits)).toBeGreaterThan(30 * SECOND);
    expect(Math.max(...waits)).toBeLessThanOrEqual(60 * SECOND);
    // A message that becomes due between two polls is found at the second poll.
    expect(at.at(-1)).toBeGreaterThanOrEqual(began + 600 * SECOND);
    expect(at.at(-1)).toBeLessThan(began + 600 * SECOND + POLL_MS);
    expect(answers(1)).toEqual([TEXTS.failure_notice.default]);
    expect(await all()).toMatchObject([
      { state: 'failed', failure: 'agent_failed: model_unreachable', reply: null },
    ]);
  });

  it('is repeated after the wait that the model asks for, but no later than at the time limit', async () => {
    const at: number[] = [];
    plan = () => {
      at.push(clock.now());
      if (at.length > 2) return;
      const retryAfterSeconds = at.length === 1 ? 100 : 100_000;
      throw new AgentFailure('model_overloaded', 'busy', { passing: true, retryAfterSeconds });
    };
    await start();
    const began = clock.now();
    await write(1, 'hello');
    await pass(HOUR);
    expect(at).toEqual([began, began + 100 * SECOND, began + 900 * SECOND]);
    expect(answers(1)).toEqual(['re: hello']);
  });

  it('counts as an attempt for any other reason, and the person gets one notice before the next answer', async () => {
    plan = (text) => {
      if (text === 'bad') throw new Error('a defect');
    };
    await start({ INBOX_MAX_ATTEMPTS: '3' });
    await write(1, 'bad');
    await write(1, 'good');
    await pass(HOUR);
    expect(runs).toEqual(['bad', 'bad', 'bad', 'good']);
    expect(answers(1)).toEqual([TEXTS.failure_notice.default, 're: good']);
  });

  it('counts only such attempts, whatever else fails between them', async () => {
    plan = () => {
      const passing = runs.length % 2 === 1;
      throw new AgentFailure(passing ? 'model_unreachable' : 'empty_reply', 'no', { passing });
    };
    await start({ INBOX_MAX_ATTEMPTS: '2' });
    await write(1, 'hello');
    await pass(HOUR);
    expect(runs).toHaveLength(4);
    expect(await all()).toMatchObject([{ state: 'failed', failure: 'agent_failed: empty_reply' }]);
  });

  it('is repeated after the next start if the daemon stopped, however often this happens', async () => {
    plan = (_text, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    for (let stops = 0; stops < 4; stops++) {
      await start({ INBOX_MAX_ATTEMPTS: '2' });
      if (stops === 0) await write(1, 'hello');
      while (runs.length === stops) await new Promise(setImmediate);
      await process.stop();
    }
    plan = () => {};
    await start({ INBOX_MAX_ATTEMPTS: '2' });
    await process.idle();
    expect(answers(1)).toEqual(['re: hello']);
    expect(await all()).toMatchObject([{ state: 'done', attempts: 1, interrupted: 0 }]);
  });
});

describe('a platform', () => {
  it('gets each message again only after the wait that it asks for, and does not count as unreachable', async () => {
    const calls = watchCalls((count) =>
      count <= 3 ? status(429, 'Too Many Requests', { retry_after: 30 }) : null,
    );
    await start();
    for (const person of [1, 2, 3]) await write(person, 'hello');
    await process.idle();
    expect(await process.services.store.outages.list()).toEqual([]);
    await pass(HOUR);
    expect(calls.map(({ at }) => at - (calls[0]?.at ?? 0))).toEqual([0, 0, 0, 30_000, 30_000, 30_000]);
    for (const person of [1, 2, 3]) expect(answers(person)).toEqual(['re: hello']);
  });

  it('gets a reply again, after waits that double, until INBOX_SEND_SECONDS after it was stored', async () => {
    const calls = watchCalls(() => status(429, 'Too Many Requests'));
    await start({ INBOX_SEND_SECONDS: '120' });
    const began = clock.now();
    await write(1, 'hello');
    await pass(HOUR);
    const times = calls.map(({ at }) => at - began);
    for (const [place, at] of times.slice(1, -1).entries()) {
      const wait = at - (times[place] ?? 0);
      expect(wait).toBeGreaterThanOrEqual(900 * 2 ** place);
      expect(wait).toBeLessThan(1000 * 2 ** place + POLL_MS);
    }
    expect(times.at(-1)).toBeGreaterThanOrEqual(120 * SECOND);
    expect(times.at(-1)).toBeLessThan(120 * SECOND + POLL_MS);
    expect(await all()).toMatchObject([{ state: 'failed', reply: 're: hello' }]);
    expect(answers(1)).toEqual([]);
  });

  it('counts as unreachable after three messages in a row have failed, not after three attempts for one message', async () => {
    watchCalls(() => status(502, 'Bad Gateway'));
    await start();
    await write(1, 'hello');
    await pass(20 * SECOND);
    expect((await all())[0]?.sends).toBeGreaterThan(3);
    expect(await process.services.store.outages.list()).toEqual([]);
    await write(2, 'hello');
    await write(3, 'hello');
    await process.idle();
    expect(process.worker.reach.health('msgbot')).toEqual({
      status: 'degraded',
      detail: expect.stringMatching(/^the platform cannot be reached; replies wait: .*502/),
    });
    expect(
      process.log.filter(({ msg }) => msg === 'the platform cannot be reached; replies wait'),
    ).toHaveLength(1);
  });

  it('makes its channel degraded after three attempts in a row have failed, until it answers', async () => {
    let isDown = true;
    watchCalls(() => (isDown ? status(502, 'Bad Gateway') : null));
    await start();
    await write(1, 'hello');
    const health = () => process.worker.reach.health('msgbot');
    await process.idle();
    expect(health()).toBeNull();
    await pass(5 * SECOND);
    expect(health()).toMatchObject({
      status: 'degraded',
      detail: expect.stringMatching(/^the last \d attempts to send failed; replies are retried: .*502/),
    });
    isDown = false;
    await pass(60 * SECOND);
    expect(answers(1)).toEqual(['re: hello']);
    expect(health()).toBeNull();
  });

  it('counts as reachable if it permanently refuses a message in between', async () => {
    watchCalls((count) =>
      count === 3 ? status(403, 'Forbidden: bot was blocked by the user') : status(502, 'Bad'),
    );
    await start();
    for (const person of [1, 2, 3, 4]) {
      await write(person, 'hello');
      await process.idle();
    }
    expect(await process.services.store.outages.list()).toEqual([]);
    expect((await all()).map(({ state }) => state)).toEqual(['replied', 'replied', 'failed', 'replied']);
  });

  it('is tried with one message at a time while it refuses the token, however many messages wait', async () => {
    let refuses = true;
    const calls = watchCalls(() => (refuses ? status(401, 'Unauthorized') : null));
    await start();
    await write(1, 'first');
    await process.idle();
    for (let person = 2; person <= 20; person++) await write(person, 'hello');
    await process.idle();
    expect(calls).toHaveLength(1);
    await pass(600 * SECOND);
    // The waits are 1, 2, 4, … s, each shortened by up to half.
    expect(calls.length).toBeGreaterThan(8);
    expect(calls.length).toBeLessThan(20);
    expect((await all()).map(({ state }) => state)).toEqual(Array.from({ length: 20 }, () => 'replied'));
    refuses = false;
    await pass(600 * SECOND);
    for (let person = 2; person <= 20; person++) expect(answers(person)).toEqual(['re: hello']);
    expect(runs).toHaveLength(20);
    expect(process.worker.reach.health('msgbot')).toBeNull();
  });

  it('that is down for a day makes replies fail without a notice, and a retry sends them later', async () => {
    watchCalls(() => new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }));
    await start();
    for (let person = 1; person <= 8; person++) await write(person, 'hello');
    await pass(23 * HOUR);
    expect((await all()).map(({ state }) => state)).toEqual(Array.from({ length: 8 }, () => 'replied'));
    await pass(2 * HOUR);
    for (const { state, reply, notice, failure } of await all())
      expect([state, reply, notice, failure]).toEqual([
        'failed',
        're: hello',
        null,
        expect.stringMatching(/^delivery_failed/),
      ]);
    platform.outage = () => null;
    expect(await process.services.store.inbox.retryFailed({})).toHaveLength(8);
    await pass(HOUR);
    for (let person = 1; person <= 8; person++) expect(answers(person)).toEqual(['re: hello']);
  });

  it('is tried at once by a daemon that starts', async () => {
    watchCalls(() => status(401, 'Unauthorized'));
    await start();
    await write(1, 'hello');
    await pass(6 * HOUR);
    await process.stop();
    platform.outage = () => null;
    await start();
    await process.idle();
    expect(answers(1)).toEqual(['re: hello']);
  });
});

describe('after a process has died', () => {
  it('messages that were being answered run one at a time, before any other messages', async () => {
    let running = 0;
    let most = 0;
    const seen: string[] = [];
    const hold = Promise.withResolvers<void>();
    plan = () => hold.promise;
    await start();
    for (let person = 1; person <= 4; person++) await write(person, `old ${person}`);
    while (runs.length < 4) await new Promise(setImmediate);
    await process.kill();
    runs = [];
    plan = async (text) => {
      seen.push(text);
      running++;
      if (text.startsWith('old')) most = Math.max(most, running);
      await new Promise(setImmediate);
      running--;
    };
    await start();
    for (let person = 5; person <= 8; person++) await write(person, `new ${person}`);
    await process.idle();
    expect(most).toBe(1);
    expect(seen.slice(0, 4).map((text) => text.slice(0, 3))).toEqual(['old', 'old', 'old', 'old']);
    for (let person = 1; person <= 8; person++) expect(answers(person)).toHaveLength(1);
  });

  it('a reply is in the list of failed messages if sending it killed the process too often', async () => {
    const hold = Promise.withResolvers<never>();
    for (let deaths = 0; deaths < 3; deaths++) {
      const calls: string[] = [];
      const { fetch } = platform;
      Object.assign(platform, {
        fetch: (...call: Parameters<typeof globalThis.fetch>) => {
          calls.push(String(call[0]));
          return String(call[0]).endsWith('/sendMessage') ? hold.promise : fetch(...call);
        },
      });
      await start({ INBOX_MAX_ATTEMPTS: '3' });
      if (deaths === 0) await write(1, 'hello');
      while (!calls.some((url) => url.endsWith('/sendMessage'))) await new Promise(setImmediate);
      await process.kill();
      Object.assign(platform, { fetch });
    }
    await start({ INBOX_MAX_ATTEMPTS: '3' });
    await process.idle();
    expect(await all()).toMatchObject([
      {
        state: 'failed',
        failure: 'delivery_failed: interrupted',
        reply: 're: hello',
        notice: null,
        sends: 3,
      },
    ]);
    expect(runs).toHaveLength(1);
  });

  it('a message fails if answering it killed the process as often as INBOX_MAX_ATTEMPTS', async () => {
    plan = () => new Promise<never>(() => {});
    for (let deaths = 0; deaths < 3; deaths++) {
      await start({ INBOX_MAX_ATTEMPTS: '3' });
      if (deaths === 0) await write(1, 'hello');
      while (runs.length <= deaths) await new Promise(setImmediate);
      await process.kill();
    }
    await start({ INBOX_MAX_ATTEMPTS: '3' });
    await process.idle();
    expect(await all()).toMatchObject([{ state: 'failed', failure: 'interrupted', attempts: 3, sends: 1 }]);
    expect(runs).toHaveLength(3);
  });
});

describe('a process that dies at any call of the store', () => {
  it.each(['before', 'after'] as const)(
    'loses nothing if it dies %s the call takes effect, and repeats only parts that were being sent',
    async (when) => {
      let call = 1;
      for (; ; call++) {
        platform = await VirtualPlatform.of(msgbot);
        directory = fastStateDirectory();
        runs = [];
        number = 0;
        let failures = 1;
        plan = () => {
          if (failures-- > 0) throw new AgentFailure('model_unreachable', 'away', { passing: true });
        };
        const events = [event(1, 'long one'), event(1, 'two'), event(2, 'long three')];
        const deliverAll = async () => {
          for (const one of events) await process.deliver('msgbot', one);
        };
        await start();
        process.dieAt(call, when);
        await deliverAll();
        await process.passUntil(clock.now() + 10 * SECOND);
        const died = process.isDead;
        await process.kill();
        await start();
        // The platform repeats all deliveries, as it would if they had not been answered with 200.
        await deliverAll();
        await process.passUntil(clock.now() + HOUR);
        const texts = [...answers(1), ...answers(2)];
        const once = texts.filter((text, index) => text !== texts[index - 1]);
        const long = ['a', 'b', 'c'].map((word) =>
          expect.stringMatching(new RegExp(`^(re: long \\w+\\s+)?${word} `)),
        );
        expect(once, `call ${call}`).toEqual([...long, 're: two', ...long]);
        expect(texts.length - once.length, `call ${call}`).toBeLessThanOrEqual(2);
        expect((await all()).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
        if (!died) break;
      }
      expect(call).toBeGreaterThan(20);
    },
  );
});
