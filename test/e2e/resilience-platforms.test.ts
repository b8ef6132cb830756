import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { SimulatedEvent } from '../../src/channel/index.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { FakePlatform } from '../support/fake-platform.ts';
import { PLATFORMS } from '../support/platforms.ts';
import { seededRandom } from '../support/random.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const SESSIONS = 50;
const MESSAGES = 10 * SESSIONS;
const KILLS = 10;
/**
 * How many attempts of a call may fail. Each attempt doubles the delay before the next attempt, even if a kill
 * interrupted it, so with more failures the test would take too long.
 */
const TRIES_THAT_FAIL = 3;
/** The time after which a platform repeats a delivery that was not answered with 200, in ms. */
const COMES_AGAIN_MS = 50;

/** A private conversation on one of the platforms. */
interface Conversation {
  platform: FakePlatform;
  /** The sender and the conversation. */
  event: Partial<SimulatedEvent>;
  texts: readonly string[];
}

function envOf(platforms: readonly FakePlatform[], { agentEnv }: FakeExchange): Record<string, string> {
  return Object.assign({ ...agentEnv, LOOP_GUARD_ENABLED: 'true' }, ...platforms.map(({ env }) => env));
}

/**
 * Returns the time at which a message was sent: long ago, and far enough from the other messages that the loop guard
 * sees no burst.
 */
function sentAt(began: number, index: number): number {
  return began - (MESSAGES - index) * 15_000;
}

function conversations(platforms: readonly FakePlatform[]): Conversation[] {
  return Array.from({ length: SESSIONS }, (_, session) => {
    const which = session % platforms.length;
    const platform = platforms[which] as FakePlatform;
    const user = PLATFORMS[which]?.personOf(session) ?? '';
    const texts = Array.from({ length: MESSAGES / SESSIONS }, (_, index) => `s${session}m${index}`);
    return { platform, event: { user, place: 'direct' }, texts };
  });
}

/**
 * Delivers an event until the daemon has answered 200, as a platform does.
 * @param daemon resolves to the running daemon, or to the restarted daemon after a kill
 */
async function deliverUntilTaken(
  platform: FakePlatform,
  daemon: () => Promise<{ url: string }>,
  event: SimulatedEvent,
): Promise<void> {
  for (;;) {
    // If the daemon is killed, the connection breaks or is refused.
    const answer = await platform.deliver(await daemon(), event).catch(() => null);
    if (answer?.status === 200) return;
    if (answer !== null) expect(answer.status, answer.text).toBe(503);
    await delay(COMES_AGAIN_MS);
  }
}

/** The replies that a person got, in order, without markup. */
function answersOf({ platform, event }: Omit<Conversation, 'texts'>): string[] {
  const places = platform.simulator.seenIn(platform.event({ ...event, number: 1 }), platform.settings);
  return platform.shown
    .filter(({ what, to }) => what === 'message' && places.includes(to))
    .map(({ text }) => text);
}

describe('a message that was acknowledged with 200', () => {
  it.each([
    { failing: 0, title: 'the daemon is killed at random times' },
    {
      failing: 1 / 3,
      title: 'the daemon is killed at random times, and a third of the first responses are failures',
    },
  ])('is answered in order, and again only if a kill interrupted its answer: $title', async ({ failing }) => {
    const random = seededRandom(20_260_401);
    const platforms = await Promise.all(PLATFORMS.map(({ plugin }) => FakePlatform.start(plugin)));
    const exchange = await FakeExchange.start();
    const directory = temporaryFolder('platforms');
    const env = { ...envOf(platforms, exchange), INBOX_MAX_ATTEMPTS: '20' };

    let daemon: Agentd = await startAgentd({ directory, env });
    const { port } = new URL(daemon.url);
    for (const platform of platforms) {
      const tried = new Map<string, number>();
      platform.answer = ({ body }) => {
        const times = (tried.get(body) ?? 0) + 1;
        tried.set(body, times);
        return times <= TRIES_THAT_FAIL && random.chance(failing) ? { status: 500, body: {} } : null;
      };
    }

    const began = Date.now();
    const all = conversations(platforms);
    // For each kill: how many messages of each session had been answered.
    const answeredAtKill: number[][] = [];
    let calls = 0;
    let nextKill = 0;
    let killed: Promise<void> = Promise.resolve();
    const watch = () => {
      calls++;
      if (calls < nextKill || answeredAtKill.length === KILLS) return;
      nextKill = Number.POSITIVE_INFINITY;
      killed = killAndStart();
    };
    const plan = () => {
      nextKill = calls + 1 + random.below(60);
    };
    const killAndStart = async () => {
      daemon.signal('SIGKILL');
      await daemon.exited;
      answeredAtKill.push(all.map((one) => new Set(answersOf(one)).size));
      daemon = await startAgentd({ directory, env: { ...env, PORT: port } });
      plan();
    };
    plan();
    for (const platform of platforms) platform.on('came', watch);

    await Promise.all(
      all.map(async ({ platform, event, texts }, session) => {
        for (const [index, text] of texts.entries()) {
          const number = session * texts.length + index + 1;
          const sent_at = sentAt(began, number);
          const whole = platform.event({ ...event, text, number, sent_at });
          await deliverUntilTaken(platform, () => killed.then(() => daemon), whole);
        }
      }),
    );
    await Promise.all(
      all.map((one) => one.platform.until(() => new Set(answersOf(one)).size === one.texts.length)),
    );
    await killed;
    expect(answeredAtKill).toHaveLength(KILLS);

    const runs = exchange.runs.map(({ text }) => text);
    const doubledRuns = runs.length - new Set(runs).size;
    all.forEach((one, session) => {
      const answers = answersOf(one);
      const first = answers.filter((text, index) => answers.indexOf(text) === index);
      expect(first, `session ${session}`).toEqual(one.texts.map((text) => `re: ${text}`));
      // Only an answer that was being sent when the daemon was killed may be repeated, at most once for each kill.
      const doubled = new Set(answers.filter((text, index) => answers.indexOf(text) !== index));
      for (const text of doubled) {
        const place = first.indexOf(text);
        const kills = answeredAtKill.filter((answered) => answered[session] === place + 1).length;
        const times = answers.filter((other) => other === text).length;
        expect(times - 1, `number of repeated answers: ${text}`).toBeLessThanOrEqual(kills);
      }
    });
    expect(new Set(runs).size).toBe(MESSAGES);
    // Each session runs one message at a time, so a kill repeats at most one run of each session.
    expect(doubledRuns).toBeLessThanOrEqual(KILLS * SESSIONS);
    for (const text of new Set(runs)) {
      const times = runs.filter((other) => other === text).length;
      expect(times - 1, `number of repeated runs: ${text}`).toBeLessThanOrEqual(KILLS);
    }
  });
});
