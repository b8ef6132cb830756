import { join } from 'node:path';
import { openSqliteStore } from '../../src/daemon/store/kernels/sqlite/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { systemClock } from '../../src/daemon/time/clock.ts';

const WEEK_MS = 7 * 86_400_000;

/** Opens the store of a daemon in a directory. Benchmarks fill it before they start the daemon. */
export function openStoreAt(directory: string): Store {
  const options = { role: 'daemon', clock: systemClock, traceRetentionMs: WEEK_MS } as const;
  return openSqliteStore(join(directory, 'agentd.db'), options);
}
