import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { guardUser } from '../../../src/daemon/guard/user.ts';
import type { GuardedMessage } from '../../../src/daemon/guard/verdict.ts';
import type { Consequence, NewInboxMessage } from '../../../src/daemon/store/inbox.ts';
import { anInboxMessage, GUARD_LIMITS } from '../../contract/fixtures.ts';
import { openAt, stateDirectory } from './state-directory.ts';

function fixture() {
  const path = join(stateDirectory(), 'agentd.db');
  const store = openAt(path);
  const message = anInboxMessage({ message_id: 'm1', session_id: 'chat:s' });
  const guarded: GuardedMessage = {
    user: guardUser({ platform: 'chat', user_id: 'u1', person: null, address: null }),
    session_id: 'chat:s',
    text: 'hash',
    message_id: 'm1',
    sent_at: null,
  };
  return { store, path, message, guarded };
}

/** Commits in the write-ahead log: its frames that say how large the database is after them (SQLite file format, 4.1). */
function commitsIn(path: string): number {
  const log = readFileSync(`${path}-wal`);
  const frame = 24 + log.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at + frame <= log.length; at += frame) if (log.readUInt32BE(at + 4) > 0) commits++;
  return commits;
}

const keep = (message: NewInboxMessage) => (): Consequence => ({ keep: message, trace: null });

it('writes the verdict, the row of the inbox and what neighbours write in one commit', async () => {
  const { store, path, message, guarded } = fixture();
  const before = commitsIn(path);
  const [{ outcomes }] = await Promise.all([
    store.inbox.admit([guarded], GUARD_LIMITS, keep(message)),
    store.check(),
  ]);
  expect(outcomes).toEqual(['kept']);
  expect(commitsIn(path)).toBe(before + 1);
});

it('leaves neither the verdict nor the row where one of them cannot be written', async () => {
  const { store, message, guarded } = fixture();
  const broken = () => {
    throw new RangeError('a defect');
  };
  await expect(store.inbox.admit([guarded], GUARD_LIMITS, broken)).rejects.toThrow('a defect');
  expect(await store.inbox.find(message.id)).toBeNull();
  expect(await store.inbox.admit([guarded], GUARD_LIMITS, keep(message))).toMatchObject({
    verdicts: [{ allowed: true, repeated: false, messages: 1, turns: 1 }],
    outcomes: ['kept'],
  });
});
