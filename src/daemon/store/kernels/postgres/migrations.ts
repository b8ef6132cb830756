import { readdirSync, readFileSync } from 'node:fs';
import { StoreUnavailable } from '../../../errors.ts';
import { StoreOfAnotherLayout } from '../../failures.ts';
import type { Database } from './database.ts';

/** The table that holds the version of the schema. */
const TABLE = 'agentd_store_schema';
/** The number of the advisory lock. Any number works, if it never changes. */
const LOCK = 7_243_002;

/**
 * Brings the database to the schema of this version. One daemon at a time migrates, and the others wait for it. Applies
 * all steps or none.
 * @throws StoreUnavailable if the database cannot be reached or, with a `StoreOfAnotherLayout` as its cause, if a later
 * version has written the schema.
 */
export async function migrate(database: Database): Promise<void> {
  const steps = readSteps(new URL('documents/', import.meta.url));
  await database.migration(async (query) => {
    await query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    await query(`CREATE TABLE IF NOT EXISTS ${TABLE} (version integer NOT NULL)`);
    const [row] = await query<{ version: number }>(`SELECT version FROM ${TABLE}`);
    const found = row?.version ?? 0;
    if (found > steps.length)
      throw new StoreUnavailable(
        new StoreOfAnotherLayout(database.description, `schema ${found} instead of schema ${steps.length}`),
      );
    for (const step of steps.slice(found)) await query(step);
    if (row) await query(`UPDATE ${TABLE} SET version = $1`, [steps.length]);
    else await query(`INSERT INTO ${TABLE} (version) VALUES ($1)`, [steps.length]);
  });
}

/** Reads `001-….sql`, `002-….sql`, … in a folder. The n-th brings the schema to version n. Add new files; never change existing files. */
function readSteps(folder: URL): string[] {
  return readdirSync(folder)
    .filter((name) => /^\d{3}-.+\.sql$/.test(name))
    .sort()
    .map((name) => readFileSync(new URL(name, folder), 'utf8'));
}
