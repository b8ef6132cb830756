import type { Log } from '../../../process/log.ts';
import { StoreOfAnotherLayout } from '../../failures.ts';
import { replicaStore } from '../../replicas.ts';
import { type Bounds, type Store, storeOver } from '../../store.ts';
import { adviceOn } from './advice.ts';
import { Database } from './database.ts';
import { PostgresKernel } from './kernel.ts';
import { migrate, readSteps } from './migrations.ts';
import { Notifications } from './notifications.ts';
import { rewriteTables } from './rewrite-tables.ts';

/** A step may store a long conversation, so its time limit is longer than that of a query of the memories. */
const LIMITS = { max: 10, query_ms: 10_000 };
/** How long to buffer the text of a stream before it is appended, ms: an append is a trip and a sync to disk. */
const GATHER_MS = 20;

const SCHEMA = { table: 'agentd_store_schema', lock: 7_243_002 } as const;

interface PostgresOptions extends Partial<Bounds> {
  /** DATABASE_URL */
  url: string;
  log: Pick<Log, 'debug'>;
  /** The time instead of that of the server, for tests. */
  now?: () => number;
}

/**
 * Opens the store in a Postgres database, which any number of daemons share, and brings its tables to the schema of this
 * version.
 * @throws StoreUnavailable if the database cannot be reached, StoreOfAnotherLayout if a later version has written it.
 */
export async function openPostgresStore({ url, log, now, ...bounds }: PostgresOptions): Promise<Store> {
  const database = new Database(url, log, LIMITS);
  const kernel = new PostgresKernel({ database, notifications: new Notifications(url, log), now });
  try {
    await migrate(database, { ...SCHEMA, steps: readSteps(new URL('documents/', import.meta.url)) });
  } catch (error) {
    await kernel.close();
    const { cause } = error as Error;
    throw cause instanceof StoreOfAnotherLayout ? cause : error;
  }
  return storeOver(
    kernel,
    {
      memories: null,
      // The database has its own tools for checks and backups.
      maintenance: (rings) => ({
        examine: async () => [],
        sweep: () => kernel.sweep(rings),
        backup: null,
        lastBackupAt: () => null,
      }),
      replicas: replicaStore(kernel),
      advice: () => adviceOn(database),
      census: async () => null,
      condition: () => {
        const { failure } = kernel;
        return { writable: failure === null, detail: failure && `Postgres cannot be reached: ${failure}.` };
      },
      expectRoom: () => undefined,
      check: async () => {
        await kernel.step((tx) => tx.now);
      },
      hints: { gather_ms: GATHER_MS, hintsMayBeLost: true },
      scrub: () => rewriteTables(database),
    },
    bounds,
  );
}
