import type { Log } from '../../../process/log.ts';
import { StoreOfAnotherLayout } from '../../failures.ts';
import { FilesNotRewritten } from '../../persons/persons.ts';
import { replicaStore } from '../../replicas.ts';
import { type Bounds, conditionOf, type Store, storeOver } from '../../store.ts';
import { Database } from './database.ts';
import { PostgresKernel } from './kernel.ts';
import { migrate, readSteps } from './migrations.ts';
import { Notifications } from './notifications.ts';

/** A step may store a long conversation, so its time limit is longer than that of a query of the memories. */
const LIMITS = { max: 10, query_ms: 10_000 };
/**
 * How long an expired document is kept, ms: longer than a step may take. Otherwise, a step that has read it before it
 * expired could keep it without its list, which is deleted at the same time.
 */
const EXPIRED_MS = 60_000;
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
        sweep: () => kernel.sweep(rings, EXPIRED_MS),
        backup: null,
        lastBackupAt: () => null,
      }),
      replicas: replicaStore(kernel),
      advice: () => adviceOn(database),
      census: async () => null,
      condition: () => conditionOf('Postgres', kernel.failure),
      expectRoom: () => undefined,
      hints: { gather_ms: GATHER_MS, hintsMayBeLost: true },
      async scrub(rings) {
        while ((await kernel.sweep(rings, 0)) > 0);
        await rewriteTables(database);
      },
    },
    bounds,
  );
}

/** Settings of the server that weaken what the daemon promises, each with what a crash may cost. */
const WEAK: Readonly<Record<string, string>> = {
  fsync: 'a crash of the server may damage the database',
  full_page_writes: 'a crash of the server may damage the database',
};

/** Warnings about the configuration of the server, one sentence each. */
export async function adviceOn(database: Database): Promise<string[]> {
  const rows = await database.query<{ name: string; setting: string; reset_val: string }>(
    'SELECT name, setting, reset_val FROM pg_settings WHERE name = ANY($1) ORDER BY name',
    [[...Object.keys(WEAK), 'synchronous_commit', 'server_encoding']],
  );
  return rows.flatMap(({ name, setting, reset_val }) => {
    if (name === 'server_encoding')
      return setting === 'UTF8'
        ? []
        : `the database has the encoding ${setting}: a text that it cannot hold is refused; use a database with UTF8`;
    // The daemon turns it on for its own commits, but an administrator's tools rely on the default.
    if (name === 'synchronous_commit')
      return reset_val === 'off'
        ? 'synchronous_commit is off in Postgres: the daemon turns it on for itself, other programs may lose data'
        : [];
    return setting === 'off' ? `${name} is off in Postgres: ${WEAK[name]}` : [];
  });
}

const ADVICE =
  'Run `agentd person erase` again while no backup and no other long transaction runs, or `VACUUM (FULL)` on the tables that begin with agentd_.';

/**
 * Writes the tables of the schema again, so that their files have no byte of deleted rows. Other statements wait
 * meanwhile. The table of memories is among them if it is in the same database.
 * @throws FilesNotRewritten
 */
async function rewriteTables(database: Database): Promise<void> {
  try {
    const tables = await database.query<{ name: string }>(
      `SELECT quote_ident(tablename) AS name FROM pg_tables
       WHERE schemaname = current_schema() AND tablename LIKE 'agentd\\_%' ORDER BY 1`,
    );
    for (const { name } of tables) await database.maintain(`VACUUM (FULL) ${name}`);
  } catch (error) {
    const { cause = error } = error as Error;
    throw new FilesNotRewritten(`Postgres did not write its tables: ${(cause as Error).message}`, ADVICE);
  }
}
