import { expect, it } from 'vitest';
import type { ChannelPlugin, PushChannel } from '../../../src/channel/index.ts';
import type { LaterChannel } from '../../../src/daemon/inbox/ask-channel.ts';
import { askChannel } from '../../../src/daemon/inbox/ask-channel.ts';
import { collectLog } from '../../support/log-lines.ts';

it('a channel that throws when it is asked how to reach a person knows no way, and the log says so', () => {
  const { log, lines } = collectLog();
  const plugin = { name: 'telex' } as ChannelPlugin;
  const later = (members: Partial<PushChannel>): LaterChannel => ({
    plugin,
    channel: { routes: [], send: async () => {}, ...members },
  });
  const ask = (members: Partial<PushChannel>) =>
    askChannel(log as never, later(members), (channel) => channel.privateChat?.('u'));
  expect(ask({ privateChat: () => ({ chat: 'c' }) })).toEqual({ chat: 'c' });
  expect([ask({}), ask({ privateChat: () => null })]).toEqual([null, null]);
  expect(lines).toEqual([]);
  const fails = () => {
    throw new Error('broken');
  };
  expect(ask({ privateChat: fails })).toBeNull();
  expect(lines).toMatchObject([{ level: 'warn' }]);
});
