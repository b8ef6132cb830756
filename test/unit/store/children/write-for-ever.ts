/** Writes sessions from many callers at once, and prints the id of each acknowledged session. Argument: its path. */
import { openSqliteStore } from '../../../../src/daemon/store/kernels/sqlite/store.ts';
import { aSession, aTrace, aTurn } from '../../../contract/fixtures.ts';
import { commitUnderClaim } from '../../../contract/store-writes.ts';

const store = openSqliteStore(process.argv[2] ?? '', {
  role: 'daemon',
  clock: { now: () => Date.now() },
  traceRetentionMs: 60_000,
});

async function caller(): Promise<never> {
  for (;;) {
    const session = aSession(Date.now());
    const changes = { session, turn: { record: aTurn(), ttl_ms: 60_000_000 }, trace: aTrace(session) };
    await commitUnderClaim(store, session.session_id, changes);
    process.stdout.write(`${session.session_id}\n`);
  }
}

await Promise.all(Array.from({ length: 32 }, caller));
