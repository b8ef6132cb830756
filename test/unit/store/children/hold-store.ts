/** Opens the store as a daemon does, prints a line, and keeps the store open until it is killed. Argument: its path. */
import { openSqliteStore } from '../../../../src/daemon/store/kernels/sqlite/store.ts';

const store = openSqliteStore(process.argv[2] ?? '', {
  role: 'daemon',
  clock: { now: () => Date.now() },
  traceRetentionMs: 1000,
});
await store.check();
console.log('held');
// The store must not be garbage-collected, which would release its lock.
setInterval(() => store.condition(), 60_000);
