import { readdirSync, readFileSync } from 'node:fs';
import { StoreUnavailable } from '../../../errors.ts';
import { StoreOfAnotherLayout } from '../../failures.ts';
import type { Database } from './database.ts';

/** The tables of one part of the database, which are brought to the schema of this version together. */
interface Schema {
  /** The table that holds the version. */
  table: string;
  /** The number of the advisory lock. Any number works, if it never changes. */
  lock: number;
  /** The n-th step brings the schema to version n. */
  steps: readonly string[];
}

/**
 * Brings the database to the schema of this version. One daemon at a time migrates, and the others wait for it. Applies
 * all steps or none.
 * @throws StoreUnavailable if the database cannot be reached or, with a `StoreOfAnotherLayout` as its cause, if a later
 * version has written the schema.
 */
export async function migrate(database: Database, { table, lock, steps }: Schema): Promise<void> {
  await database.migration(async ({ query }) => {
    await query('SELECT pg_advisory_xact_lock($1)', [lock]);
    await query(`CREATE TABLE IF NOT EXISTS ${table} (version integer NOT NULL)`);
    const [row] = await query<{ version: number }>(`SELECT version FROM ${table}`);
    const found = row?.version ?? 0;
    if (found > steps.length)
      throw new StoreUnavailable(
        new StoreOfAnotherLayout(database.description, `schema ${found} instead of schema ${steps.length}`),
      );
    for (const step of steps.slice(found)) await query(step);
    if (row) await query(`UPDATE ${table} SET version = $1`, [steps.length]);
    else await query(`INSERT INTO ${table} (version) VALUES ($1)`, [steps.length]);
  });
}

/** Reads `001-….sql`, `002-….sql`, … in a folder. Add new files; never change existing files. */
export function readSteps(folder: URL): string[] {
  return readdirSync(folder)
    .filter((name) => /^\d{3}-.+\.sql$/.test(name))
    .sort()
    .map((name) => readFileSync(new URL(name, folder), 'utf8'));
}
