/** Opens the store as a daemon does, says so, and keeps it until it is killed. Argument: path. */
import { openSqliteStore } from '../../../../src/daemon/store/sqlite/store.ts';

const store = openSqliteStore(process.argv[2] ?? '', {
  role: 'daemon',
  clock: { now: () => Date.now() },
  traceRetentionMs: 1000,
});
await store.check();
console.log('held');
setInterval(() => {}, 60_000);
