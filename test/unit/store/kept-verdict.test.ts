import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { guardUser } from '../../../src/daemon/guard/user.ts';
import { aSession, GUARD_LIMITS } from '../../contract/fixtures.ts';
import { saveSession } from '../../contract/store-writes.ts';
import { openAt, stateDirectory } from './state-directory.ts';

// The counts of turns are in memory until the next commit writes them. Other statements of that commit may read or
// change the table of the counts.

function fixture() {
  const path = join(stateDirectory(), 'agentd.db');
  const store = openAt(path);
  const turnsOf = async (session_id: string) => {
    const user = guardUser({ platform: 'chat', user_id: randomUUID(), person: null, address: null });
    const message = { user, session_id, text: 'hash', message_id: null, sent_at: null };
    const verdict = await store.guard.check(message, GUARD_LIMITS);
    return verdict.allowed ? verdict.turns : verdict;
  };
  return { path, store, turnsOf };
}

it.each(['ended', 'replaced'] as const)(
  'the count of turns starts at 1 again after the session was %s',
  async (how) => {
    const { store, turnsOf } = fixture();
    const session = aSession(Date.now());
    const { session_id } = session;
    expect(await turnsOf(session_id)).toBe(1);
    await saveSession(store, session);
    expect(await turnsOf(session_id)).toBe(2);
    if (how === 'ended') await store.sessions.end(session_id);
    else await saveSession(store, session, 'replaced');
    expect(await turnsOf(session_id)).toBe(1);
  },
);

it('the count of turns starts at 1 again after an administrator has reset the session or all sessions', async () => {
  const { path, store, turnsOf } = fixture();
  const administrator = openAt(path, 'administrator');
  expect([await turnsOf('s'), await turnsOf('s')]).toEqual([1, 2]);
  // The counts are stored with the next commit.
  await store.check();
  expect(await administrator.guard.resetSession('s')).toBe(true);
  expect([await turnsOf('s'), await turnsOf('s')]).toEqual([1, 2]);
  await store.check();
  await administrator.guard.resetAll();
  expect(await turnsOf('s')).toBe(1);
  await store.guard.giveBackTurn('s');
  expect(await turnsOf('s')).toBe(1);
});

it('what the guard keeps of a message and a verdict does not change with the objects of its caller', async () => {
  const { store } = fixture();
  const user = guardUser({ platform: 'chat', user_id: 'ada', person: null, address: null });
  const message = { user: { ...user }, session_id: 's', text: 'hash', message_id: 'm-1', sent_at: null };
  const verdict = await store.guard.check(message, GUARD_LIMITS);
  message.user.user_id = 'eve';
  Object.assign(verdict, { turns: 99 });
  expect(await store.guard.check({ ...message, user }, GUARD_LIMITS)).toMatchObject({
    repeated: true,
    turns: 1,
  });
  expect(await store.guard.resetUser('chat', 'eve')).toBe(false);
  expect(await store.guard.resetUser('chat', 'ada')).toBe(true);
});
