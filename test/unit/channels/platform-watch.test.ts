import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type {
  ChannelCheck,
  ChannelPlugin,
  ClosedQuestion,
  OutgoingReply,
  PushChannel,
} from '../../../src/channel/index.ts';
import { PlatformWatch } from '../../../src/daemon/channels/platform-watch.ts';
import type { Log } from '../../../src/daemon/process/log.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';

const OK: ChannelCheck = { outcome: 'ok', detail: 'known' };
const REFUSED: ChannelCheck = { outcome: 'failed', detail: 'refuses the-token-itself', advice: 'Set it.' };
const MINUTE = 60_000;

let answers: (ChannelCheck | Error)[];
let asked: number;
let lines: string[];
let watch: PlatformWatch;

beforeEach(() => {
  vi.useFakeTimers();
  answers = [];
  asked = 0;
  lines = [];
  const note = (level: string) => (_fields: object, text: string) => void lines.push(`${level} ${text}`);
  const log = { debug: () => {}, info: note('info'), warn: note('warn') } as unknown as Log;
  watch = new PlatformWatch(log, 'production');
});
afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

/** An active channel. Its checks return `answers` in order, and then the last answer again and again. */
function watched(members: Partial<PushChannel> = {}) {
  const channel: PushChannel = { routes: [], send: async () => {}, ...members };
  const plugin: ChannelPlugin = {
    name: 'telex',
    apiVersion: 1,
    summary: 'People with a telex.',
    settings: [{ name: 'TELEX_TOKEN', kind: 'string', secret: true, sentence: 'It.' }],
    detect: () => true,
    delivery: 'push',
    capabilities: { textLimit: null, markdown: 'none', typing: false },
    create: () => ({
      ...channel,
      async check() {
        const answer = answers[Math.min(asked++, answers.length - 1)];
        if (answer === undefined || answer instanceof Error) throw answer ?? new Error('nothing to say');
        return answer;
      },
    }),
  };
  watch.begin([{ plugin, from: 'bundled', settings: { TELEX_TOKEN: new Secret('the-token-itself') } }]);
  return watch.watched({ plugin, channel }).channel;
}

const settled = () => vi.advanceTimersByTimeAsync(0);
const DEGRADED = { status: 'degraded', detail: 'refuses [secret]' };
const reply = {} as OutgoingReply;

it('the platform watch does not report a channel that its platform knows, and checks it only once', async () => {
  answers = [OK];
  const channel = watched();
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect([channel.health?.(), asked, lines]).toEqual([{ status: 'ok' }, 1, []]);
});

it('the platform watch marks a channel as degraded if the token is refused, until a later check succeeds', async () => {
  answers = [REFUSED, REFUSED, OK];
  const channel = watched();
  await settled();
  expect(channel.health?.()).toEqual(DEGRADED);
  expect(lines).toEqual(['warn the channel telex is degraded: refuses [secret]']);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect([channel.health?.(), asked]).toEqual([DEGRADED, 2]);
  await vi.advanceTimersByTimeAsync(2 * MINUTE);
  expect([channel.health?.(), asked]).toEqual([{ status: 'ok' }, 3]);
  expect(lines.slice(1)).toEqual(['info the channel telex is no longer degraded']);
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect(asked).toBe(3);
});

it('the platform watch marks a channel as ok again if the platform accepts a reply, but not if it refuses a reply', async () => {
  answers = [REFUSED];
  let refuses = true;
  const channel = watched({
    async send() {
      if (refuses) throw new Error('no');
    },
  });
  await settled();
  await expect(channel.send?.(reply)).rejects.toThrow('no');
  expect(channel.health?.()).toEqual(DEGRADED);
  refuses = false;
  await channel.send?.(reply);
  expect(channel.health?.()).toEqual({ status: 'ok' });
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect(asked).toBe(1);
});

it('the platform watch keeps the text of a channel that reports itself as degraded', async () => {
  answers = [REFUSED];
  const own = { status: 'degraded', detail: 'the line is cut' } as const;
  const channel = watched({ health: () => own });
  await settled();
  expect(channel.health?.()).toEqual(own);
});

it('the platform watch checks at growing intervals, and stops checking when it is stopped', async () => {
  answers = [new Error('no line')];
  const channel = watched();
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  // The first check is at once. The intervals are then 1, 2, 4 and 8 minutes, and 10 minutes from then on.
  expect(asked).toBe(9);
  expect(channel.health?.()).toEqual({ status: 'degraded', detail: 'it could not be queried: no line' });
  expect(lines).toHaveLength(1);
  watch.stop();
  await vi.advanceTimersByTimeAsync(60 * MINUTE);
  expect(asked).toBe(9);
});

it('the methods of a watched channel work even if the channel is an object of a class with private fields', async () => {
  class Telex implements PushChannel {
    readonly routes = [];
    #said: string[] = [];
    async start() {
      this.#said.push('started');
    }
    async send() {
      this.#said.push('sent');
    }
    async typing() {
      this.#said.push('typing');
    }
    async closeQuestion() {
      this.#said.push('closed');
    }
    async stop() {
      this.#said.push('stopped');
    }
    get said() {
      return this.#said;
    }
  }
  answers = [OK];
  const telex = new Telex();
  const plugin = { name: 'telex' } as ChannelPlugin;
  const { channel } = watch.watched({ plugin, channel: telex });
  await channel.start?.();
  await channel.send?.(reply);
  await channel.typing?.({});
  await channel.closeQuestion?.({} as ClosedQuestion);
  await channel.stop?.();
  expect(telex.said).toEqual(['started', 'sent', 'typing', 'closed', 'stopped']);
});

it('the platform watch logs what a channel throws when it is asked how to reach a person, and goes on', () => {
  answers = [OK];
  const fails = () => {
    throw new Error('broken');
  };
  const channel = watched({ privateChat: fails, privateSession: fails, chatUrl: fails }) as PushChannel;
  const reached = [channel.privateChat?.('u'), channel.privateSession?.('u', 't'), channel.chatUrl?.()];
  expect(reached).toEqual([null, null, null]);
  expect(lines).toEqual(Array(3).fill('warn the channel telex does not know how to reach a person'));
});
