import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type PlatformApi, PlatformFailure } from '../../../../plugins/msgbot/api.ts';
import { Bot } from '../../../../plugins/msgbot/bot.ts';
import { asFields } from '../../../../src/channel/index.ts';
import { collectLog } from '../../../support/log-lines.ts';

beforeEach(() => void vi.useFakeTimers({ now: 1_795_290_000_000 }));
afterEach(() => void vi.useRealTimers());

/**
 * Makes a bot. The platform returns the name of the bot if `isThere` returns true for the number of the call. Every
 * other call returns `early`, or fails if `early` is not given.
 */
function botAt(
  isThere: (call: number) => boolean,
  early?: unknown,
  { token = '5550100:token', me = { username: 'agentd_bot' } }: { token?: string; me?: object } = {},
) {
  const { log, lines } = collectLog();
  const asked: number[] = [];
  const api = {
    async call() {
      asked.push(Date.now());
      if (!isThere(asked.length) && early !== undefined) return asFields(early);
      if (!isThere(asked.length)) throw new PlatformFailure(502, 'Bad Gateway');
      return me;
    },
  };
  const bot = new Bot(token, api as unknown as PlatformApi, {
    log,
    now: Date.now,
    simulated: false,
  });
  return { bot, asked, lines };
}

describe('the name of the bot', () => {
  it('is requested until the platform returns it, at growing intervals and with one warning', async () => {
    const { bot, asked, lines } = botAt((call) => call === 10);
    bot.start();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(bot).toMatchObject({ id: 5550100, username: 'agentd_bot' });
    const waits = asked.slice(1).map((at, index) => at - (asked[index] ?? 0));
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1000));
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  it.each([true, null, {}, { username: 7 }, { username: '' }])(
    'is not read from the invalid answer %j',
    async (early) => {
      const { bot, asked, lines } = botAt((call) => call === 2, early);
      bot.start();
      await vi.advanceTimersByTimeAsync(0);
      expect(bot).toMatchObject({ username: null });
      expect(bot.health()).toMatchObject({ status: 'degraded' });
      expect(lines.map(({ level }) => level)).toEqual(['warn']);
      await vi.advanceTimersByTimeAsync(1000);
      expect(bot).toMatchObject({ username: 'agentd_bot' });
      expect(asked).toHaveLength(2);
    },
  );

  it.each([
    ['5550100:token', { username: 'agentd_bot' }, 5550100],
    ['5550100:token', { username: 'agentd_bot', id: 42 }, 42],
    ['a-token', { username: 'agentd_bot', id: 42 }, 42],
    ['a-token', { username: 'agentd_bot', id: 'x' }, null],
  ])(
    'is read together with the id of the bot, which overrides the id in the token: token %s, answer %j',
    async (token, me, id) => {
      const { bot } = botAt(() => true, undefined, { token, me });
      expect(bot.id).toBe(token === 'a-token' ? null : 5550100);
      bot.start();
      await vi.advanceTimersByTimeAsync(0);
      expect(bot).toMatchObject({ id, username: 'agentd_bot' });
    },
  );

  it.each([
    ['at once', 1500, 0],
    ['when a second has passed since the last request', 100, 900],
  ])('is requested %s if a message needs it', async (_when, since, wait) => {
    let isThere = false;
    const { bot, asked } = botAt(() => isThere);
    bot.start();
    await vi.advanceTimersByTimeAsync(7000 + since);
    expect(asked).toHaveLength(4);
    isThere = true;
    const known = bot.whenKnown(2000);
    await vi.advanceTimersByTimeAsync(wait);
    await known;
    expect(bot.username).toBe('agentd_bot');
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked).toHaveLength(5);
  });

  it('stays unknown if the platform does not return it while a message waits', async () => {
    const { bot } = botAt(() => false);
    bot.start();
    await vi.advanceTimersByTimeAsync(7000);
    const waited = bot.whenKnown(2000);
    await vi.advanceTimersByTimeAsync(2000);
    await waited;
    expect(bot.username).toBeNull();
    bot.stop();
  });

  it('is reported as missing in the health of the channel, from the first failed request until it is known', async () => {
    const { bot } = botAt((call) => call === 3);
    expect(bot.health()).toEqual({ status: 'ok' });
    bot.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(bot.health()).toEqual({
      status: 'degraded',
      detail:
        'the name of the bot is not known yet: group messages that may mention it are refused for now, and the platform delivers them again',
    });
    await vi.advanceTimersByTimeAsync(3000);
    expect(bot.username).toBe('agentd_bot');
    expect(bot.health()).toEqual({ status: 'ok' });
  });

  it('is not requested after the stop', async () => {
    const { bot, asked } = botAt(() => false);
    bot.start();
    await vi.advanceTimersByTimeAsync(500);
    bot.stop();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked).toHaveLength(1);
  });
});
