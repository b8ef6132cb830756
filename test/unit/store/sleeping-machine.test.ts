import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openSqliteStore } from '../../../src/daemon/store/kernels/sqlite/store.ts';
import { aSession } from '../../contract/fixtures.ts';
import { claimSession } from '../../contract/store-writes.ts';
import { stateDirectory } from './state-directory.ts';

/** While a machine sleeps, the time of day goes on, and the clock of claims stands still. */
it('after a long sleep of the machine, claims of sessions and keys are valid as before', async () => {
  const time = { wall: Date.UTC(2030, 0, 1), steady: 0 };
  const clock = { now: () => time.wall, steady: () => time.steady };
  const store = openSqliteStore(join(stateDirectory(), 'agentd.db'), {
    ...{ role: 'daemon' as const, clock, traceRetentionMs: 1000 },
  });
  onTestFinished(() => store.close());
  time.wall += 30 * 24 * 3_600_000;
  const session = aSession(time.wall);
  const claim = await claimSession(store, session.session_id);
  expect(await store.sessions.save(claim, session, 'new')).not.toBe('lost');
  expect(await store.sessions.renew(claim)).toBe(true);
  expect(await store.sessions.claim(session.session_id)).toBeNull();
  expect((await store.idempotency.claim('k', 'body')).outcome).toBe('new');
  expect((await store.idempotency.claim('k', 'body')).outcome).toBe('running');
});
