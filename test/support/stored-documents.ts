import type { Entry, Kind } from '../../src/daemon/store/kernels/kernel.ts';
import { openDatabase } from '../../src/daemon/store/kernels/sqlite/database.ts';
import { SqliteKernel } from '../../src/daemon/store/kernels/sqlite/kernel.ts';
import { systemClock } from '../../src/daemon/time/clock.ts';

/** All live documents of a kind in the file of an embedded store, as another process sees them. */
export async function storedDocuments<T>(path: string, kind: Kind<T, unknown>): Promise<Entry<T>[]> {
  const db = openDatabase(path);
  const kernel = new SqliteKernel({ db, clock: systemClock, isDaemon: false });
  const found: Entry<T>[] = [];
  for await (const entry of kernel.scan(kind)) found.push(entry);
  await kernel.close();
  db.close();
  return found;
}
