import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { ChannelCheck, ChannelPlugin } from '../../../src/channel/index.ts';
import { PlatformWatch } from '../../../src/daemon/channels/platform-watch.ts';
import { PlatformReach } from '../../../src/daemon/inbox/platform-reach.ts';
import type { Log } from '../../../src/daemon/process/log.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';

const OK: ChannelCheck = { outcome: 'ok', detail: 'known' };
const REFUSED: ChannelCheck = { outcome: 'failed', detail: 'refuses the-token-itself', advice: 'Set it.' };
const MINUTE = 60_000;

let answers: (ChannelCheck | Error)[];
let asked: number;
let lines: string[];
let reach: PlatformReach;
let watch: PlatformWatch;

beforeEach(() => {
  vi.useFakeTimers();
  answers = [];
  asked = 0;
  lines = [];
  const note = (level: string) => (_fields: object, text: string) => void lines.push(`${level} ${text}`);
  const log = { debug: () => {}, info: note('info'), warn: note('warn') } as unknown as Log;
  reach = new PlatformReach({ store: {} as Store, clock: systemClock, log });
  watch = new PlatformWatch(log, 'production', reach);
});
afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

/** An active channel. Its checks return `answers` in order, and then the last answer again and again. */
function watched(): void {
  const plugin: ChannelPlugin = {
    name: 'telex',
    apiVersion: 1,
    summary: 'People with a telex.',
    settings: [{ name: 'TELEX_TOKEN', kind: 'string', secret: true, sentence: 'It.' }],
    detect: () => true,
    delivery: 'push',
    capabilities: { textLimit: null, markdown: 'none', typing: false },
    create: () => ({
      routes: [],
      send: async () => {},
      async check() {
        const answer = answers[Math.min(asked++, answers.length - 1)];
        if (answer === undefined || answer instanceof Error) throw answer ?? new Error('nothing to say');
        return answer;
      },
    }),
  };
  watch.begin([{ plugin, from: 'bundled', settings: { TELEX_TOKEN: new Secret('the-token-itself') } }]);
}

const settled = () => vi.advanceTimersByTimeAsync(0);
const DEGRADED = { status: 'degraded', detail: 'refuses [secret]' };

it('the platform watch does not report a channel that its platform knows, and checks it only once', async () => {
  answers = [OK];
  watched();
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect([reach.health('telex'), asked, lines]).toEqual([null, 1, []]);
});

it('the platform watch marks a channel as degraded if the token is refused, until a later check succeeds', async () => {
  answers = [REFUSED, REFUSED, OK];
  watched();
  await settled();
  expect(reach.health('telex')).toEqual(DEGRADED);
  expect(lines).toEqual(['warn the channel telex is degraded: refuses [secret]']);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect([reach.health('telex'), asked]).toEqual([DEGRADED, 2]);
  await vi.advanceTimersByTimeAsync(2 * MINUTE);
  expect([reach.health('telex'), asked]).toEqual([null, 3]);
  expect(lines.slice(1)).toEqual(['info the channel telex is no longer degraded']);
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect(asked).toBe(3);
});

it('the platform watch no longer checks a channel once its platform has accepted a reply', async () => {
  answers = [REFUSED];
  watched();
  await settled();
  await reach.answered('telex');
  expect(reach.health('telex')).toEqual(DEGRADED);
  await reach.accepted('telex');
  expect(reach.health('telex')).toBeNull();
  expect(lines.slice(1)).toEqual(['info the channel telex is no longer degraded']);
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect(asked).toBe(1);
});

it('the platform watch checks at growing intervals, and stops checking when it is stopped', async () => {
  answers = [new Error('no line')];
  watched();
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  // The first check is at once. The intervals are then 1, 2, 4 and 8 minutes, and 10 minutes from then on.
  expect(asked).toBe(9);
  expect(reach.health('telex')).toEqual({ status: 'degraded', detail: 'it could not be queried: no line' });
  expect(lines).toHaveLength(1);
  watch.stop();
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect(asked).toBe(9);
});
