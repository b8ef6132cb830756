import { APICallError } from 'ai';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { AgentRuntime } from '../../../src/agent/index.ts';
import type { SimulatedEvent } from '../../../src/channel/index.ts';
import { createBuiltin } from '../../../src/daemon/agent/builtin.ts';
import { modelFailure } from '../../../src/daemon/agent/llm/model-failure.ts';
import type { InboxMessage } from '../../../src/daemon/store/inbox/inbox.ts';
import { TEXTS } from '../../../src/daemon/texts/text-records.ts';
import { SECRET } from '../../support/daemon.ts';
import { isThorough } from '../../support/effort.ts';
import { FakeApi } from '../../support/fake-api.ts';
import { InboxProcess, type InboxProcessOptions } from '../../support/inbox-process.ts';
import { PLATFORMS } from '../../support/platforms.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { VirtualPlatform } from '../../support/virtual-platform.ts';
import { fastStateDirectory } from '../store/state-directory.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const LENGTHS = (
  [
    ['1 s', SECOND],
    ['12 s', 12 * SECOND],
    ['1 min', MINUTE],
    ['15 min', 15 * MINUTE],
    ['6 h', 6 * HOUR],
    ['23 h', 23 * HOUR],
  ] as const
).filter(([length]) => isThorough || length === '23 h');
const PEOPLE = 3;
/** Number of words in a long reply, which becomes several messages on each platform. */
const LONG_WORDS = 800;
const RUN_MS = 900 * SECOND;

/**
 * Times of the messages during the outage, as fractions of its length. Another message is sent before the outage, and
 * another after it.
 */
const MOMENTS = [0, 0.3, 0.6, 0.95];

interface Written {
  event: SimulatedEvent;
  at: number;
}

/** A clock, platforms, and a daemon that can be replaced by another daemon. */
class World {
  readonly clock = new VirtualClock(Date.UTC(2030, 0, 1));
  readonly began = this.clock.now() + MINUTE;
  readonly written: Written[] = [];
  readonly platforms: readonly VirtualPlatform[];
  readonly #options: Omit<InboxProcessOptions, 'clock' | 'platforms' | 'agent'>;
  process!: InboxProcess;

  private constructor(platforms: readonly VirtualPlatform[], env: Readonly<Record<string, string>>) {
    this.platforms = platforms;
    this.#options = { directory: fastStateDirectory(), env };
  }

  static async with(
    names: readonly string[],
    agentOf: (world: World) => AgentRuntime,
    env: Readonly<Record<string, string>> = {},
  ): Promise<World> {
    const plugins = PLATFORMS.filter(({ plugin }) => names.includes(plugin.name));
    const platforms = await Promise.all(plugins.map(({ plugin }) => VirtualPlatform.of(plugin)));
    const world = new World(platforms, env);
    const agent = agentOf(world);
    world.start = async () => {
      world.process = await InboxProcess.start({
        ...world.#options,
        clock: world.clock,
        platforms,
        agent,
      });
    };
    await world.start();
    onTestFinished(() => world.process.kill());
    return world;
  }

  start: () => Promise<void> = async () => {};

  isDuring(length: number): boolean {
    const since = this.clock.now() - this.began;
    return since >= 0 && since < length;
  }

  /** Sends a message of each person at each of these times, and advances the clock to the last of these times. */
  async writeAll(times: readonly number[], textOf: (number: number) => string): Promise<void> {
    for (const at of times) {
      await this.process.passUntil(at);
      for (const [which, platform] of this.platforms.entries()) {
        for (let person = 0; person < PEOPLE; person++) {
          const number = this.written.length + 1;
          const user = PLATFORMS.find(({ plugin }) => plugin === platform.plugin)?.personOf(
            which * 100 + person,
          );
          const event: SimulatedEvent = {
            kind: 'message',
            user: user ?? '',
            text: textOf(number),
            place: 'direct',
            number,
            sent_at: at,
          };
          this.written.push({ event, at });
          await this.process.deliver(platform.plugin.name, event);
        }
      }
      await this.process.idle();
    }
  }

  momentsOf(length: number): number[] {
    const during = MOMENTS.map((part) => this.began + Math.floor(part * length));
    return [this.began - 10 * SECOND, ...during, this.began + length + SECOND];
  }

  /** Yields what each person wrote, and which replies they got, in order. */
  *conversations(): Generator<{ texts: string[]; answers: string[] }> {
    for (const platform of this.platforms) {
      const users = new Map<string, SimulatedEvent[]>();
      for (const { event } of this.written) users.set(event.user, [...(users.get(event.user) ?? []), event]);
      for (const events of users.values()) {
        const answers = platform.textsFor(events[0] as SimulatedEvent);
        if (answers.length > 0) yield { texts: events.map(({ text }) => text), answers };
      }
    }
  }

  async messages(): Promise<InboxMessage[]> {
    const states = ['waiting', 'running', 'replied', 'done', 'failed'] as const;
    return this.process.services.store.inbox.list({ states, limit: 1000 });
  }
}

/** Answers `re: <text>`. A text that begins with `long` also gets numbered words, which fill several messages. */
const echo = (isAway: () => Error | null): AgentRuntime => ({
  apiVersion: 1,
  async *run({ text }) {
    const away = isAway();
    if (away) throw away;
    yield text.startsWith('long') ? `re: ${text}\n\n${words(text)}` : `re: ${text}`;
  },
});

const words = (text: string) =>
  Array.from({ length: LONG_WORDS }, (_, index) => `${text.replace(/\W/g, '')}w${index}`).join(' ');

/** A status and a network error with which a model or a platform can fail. The status depends on `count`. */
function failureOf(count: number): { status: number; refused: Error } {
  const status = [503, 500, 502][count % 3] as number;
  const refused = new TypeError('fetch failed', {
    cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  });
  return { status, refused };
}

function modelError(count: number): Error {
  const { status, refused } = failureOf(count);
  const about = { url: 'http://model.invalid', requestBodyValues: {} };
  if (count % 4 === 0)
    return modelFailure(new APICallError({ ...about, message: 'unreachable', cause: refused }));
  const statusCode = count % 4 === 1 ? 429 : status;
  const responseHeaders = count % 4 === 1 ? { 'retry-after': '3' } : {};
  return modelFailure(new APICallError({ ...about, message: 'no', statusCode, responseHeaders }));
}

describe.each(LENGTHS)('an outage of %s', (_length, length) => {
  it('loses no message if the model fails, and each message past its time limit gets one notice', async () => {
    let runs = 0;
    const world = await World.with(['teamchat'], (here) =>
      echo(() => (here.isDuring(length) ? modelError(runs++) : null)),
    );
    await world.writeAll(world.momentsOf(length), (number) => `question ${number}`);
    // A session's messages run one after another, and each gets its full time limit.
    await world.process.passUntil(world.clock.now() + MOMENTS.length * RUN_MS + HOUR);

    const messages = await world.messages();
    const failed = messages.filter(({ state }) => state === 'failed');
    expect(messages).toHaveLength(world.written.length);
    expect(messages.filter(({ state }) => state !== 'done' && state !== 'failed')).toEqual([]);
    for (const { first_run_at, failure, notice, notice_failure, reply } of failed) {
      expect((first_run_at ?? 0) + RUN_MS).toBeLessThan(world.began + length);
      expect(failure).toMatch(/^agent_failed: model_(unreachable|overloaded)$/);
      expect([notice, notice_failure, reply]).toEqual([TEXTS.failure_notice.default, null, null]);
    }
    if (length <= RUN_MS) expect(failed).toEqual([]);
    const lost = new Set(failed.map(({ message }) => message?.text));
    for (const { texts, answers } of world.conversations())
      expect(answers).toEqual(
        texts.map((text) => (lost.has(text) ? TEXTS.failure_notice.default : `re: ${text}`)),
      );
  });

  it.each(PLATFORMS.map(({ plugin }) => plugin.name))(
    'loses no reply if %s fails, and repeats no part that the platform has confirmed',
    async (name) => {
      const world = await World.with([name], () => echo(() => null));
      const [platform] = world.platforms as [VirtualPlatform];
      let calls = 0;
      let parts = 0;
      platform.outage = ({ body }) => {
        if (!world.isDuring(length)) return null;
        // The first part of the first long reply is still accepted, so that the outage interrupts this reply.
        if (body.includes('long') && parts++ < 1) return null;
        const { status, refused } = failureOf(calls++);
        return calls % 2 === 0 ? refused : new Response('{}', { status });
      };
      const textOf = (number: number) => (number % 2 === 0 ? `long ${number}` : `question ${number}`);
      const times = world.momentsOf(length);
      await world.writeAll(times.slice(0, 3), textOf);
      expect(parts).toBeGreaterThan(1);
      // The sent parts and the outage are still known after the process has ended.
      await world.process.kill();
      await world.start();
      await world.writeAll(times.slice(3), textOf);
      await world.process.passUntil(world.clock.now() + HOUR);

      const messages = await world.messages();
      expect(messages.map(({ state }) => state)).toEqual(world.written.map(() => 'done'));
      expect(messages.filter(({ notice }) => notice !== null)).toEqual([]);
      let people = 0;
      for (const { texts, answers } of world.conversations()) {
        people++;
        const said = answers.join(' ').split(/\s+/).join(' ');
        const expected = texts.flatMap((text) => [
          `re: ${text}`,
          ...(text.startsWith('long') ? [words(text)] : []),
        ]);
        expect(said).toBe(expected.join(' '));
      }
      expect(people).toBe(PEOPLE);
      // Only probes are sent. The back-off limits their number, however many messages wait.
      expect(calls).toBeLessThan(60 + length / MINUTE);
    },
  );
});

describe('an outage of the business API', () => {
  let api: FakeApi;
  beforeAll(async () => {
    api = await FakeApi.start({ secret: SECRET });
  });
  afterAll(() => api.close());

  it.each(LENGTHS)(
    'of %s does not prevent replies: the agent says that it cannot look things up',
    async (_length, length) => {
      const env = {
        API_BASE_URL: api.url,
        API_EMAIL: 'service@example.com',
        API_PASSWORD: 'service-password',
        API_PUBLIC_USER_FIELDS: 'name',
      };
      const world = await World.with(['msgbot'], () => createBuiltin(), env);
      const times = world.momentsOf(length);
      for (const at of times) {
        api.behave();
        if (at >= world.began && at < world.began + length) {
          for (const path of ['/users', '/authentication_token']) api.misbehave(path, { status: 503 });
        }
        await world.writeAll([at], () => 'alice@example.com');
      }
      await world.process.passUntil(world.clock.now() + HOUR);
      const messages = await world.messages();
      expect(messages.map(({ state, attempts }) => [state, attempts])).toEqual(
        world.written.map(() => ['done', 1]),
      );
      for (const { answers } of world.conversations()) {
        expect(answers).toHaveLength(times.length);
        expect(answers.filter((answer) => answer.includes('Alice Example'))).toHaveLength(2);
      }
    },
  );
});
