import { join } from 'node:path';
import { systemClock } from '../../src/daemon/clock.ts';
import { openSqliteStore } from '../../src/daemon/store/sqlite/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';

const WEEK_MS = 7 * 86_400_000;

/** The daemon's own store in a directory, to fill it before a round, and to count in it afterwards. */
export function administer(directory: string, role: 'daemon' | 'administrator'): Store {
  const options = { role, clock: systemClock, traceRetentionMs: WEEK_MS };
  return openSqliteStore(join(directory, 'agentd.db'), options);
}
