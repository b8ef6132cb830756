import { expect, it } from 'vitest';
import type { PushChannel } from '../../../src/channel/index.ts';
import type { PushTarget } from '../../../src/daemon/inbox/ask-channel.ts';
import { findPrivateChat, findPrivateSession } from '../../../src/daemon/inbox/ask-channel.ts';
import { TELEX } from '../../support/later-services.ts';
import { collectLog } from '../../support/log-lines.ts';

const target = (members: Partial<PushChannel>): PushTarget => ({
  plugin: TELEX,
  channel: { routes: [], send: async () => {}, ...members },
});

it('a channel that throws when it is asked how to reach a person knows no way, and the log says so', () => {
  const { log, lines } = collectLog();
  const ask = (members: Partial<PushChannel>) => findPrivateChat(log, target(members), 'u');
  expect(ask({ privateChat: () => ({ chat: 'c' }) })).toEqual({ chat: 'c' });
  expect(findPrivateChat(log, target({ privateChat: () => ({ chat: 'c' }) }), null)).toBeNull();
  expect([ask({}), ask({ privateChat: () => null })]).toEqual([null, null]);
  expect(lines).toEqual([]);
  const fails = () => {
    throw new Error('broken');
  };
  expect(ask({ privateChat: fails })).toBeNull();
  expect(ask({ privateChat: () => 'c' as never })).toBeNull();
  expect(lines).toMatchObject([{ level: 'warn' }, { level: 'warn' }]);
});

it('a channel whose answer is a promise that rejects knows no way, and the process lives on', () => {
  const { log, lines } = collectLog();
  const later = async () => Promise.reject('broken') as never;
  const late = target({ privateChat: later, privateSession: later } as never);
  expect(findPrivateChat(log, late, 'u')).toBeNull();
  expect(findPrivateSession(log, late, 'u', 'telex:g')).toBeNull();
  expect(lines).toHaveLength(2);
});

it('a channel leads to no session of another channel', () => {
  const { log, lines } = collectLog();
  const ask = (thread_id: string) =>
    findPrivateSession(
      log,
      target({ privateSession: () => ({ thread_id, channel_id: 'c' }) }),
      'u',
      'telex:g',
    );
  expect(ask('telex:u')).toEqual({ thread_id: 'telex:u', channel_id: 'c' });
  expect(findPrivateSession(log, target({}), 'u', 'telex:g')).toBeNull();
  expect(lines).toEqual([]);
  expect([ask('other:u'), ask('u'), ask('telex:\n')]).toEqual([null, null, null]);
  expect(lines).toHaveLength(3);
});
