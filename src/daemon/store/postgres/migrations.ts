import { readdirSync, readFileSync } from 'node:fs';
import { StoreUnavailable } from '../../errors.ts';
import { StoreOfAnotherLayout } from '../failures.ts';
import type { Database } from './database.ts';

/** The number of the advisory lock. Any number works, if it never changes. */
const LOCK = 7_243_001;

/** The statements of one step, as text. */
export type Steps = readonly string[];

/**
 * Brings the database to the schema of this version. One daemon at a time migrates, and the others wait for it. Applies
 * all steps or none.
 * @throws StoreUnavailable if the database cannot be reached or, with a `StoreOfAnotherLayout` as its cause, if a later version
 * has written the schema.
 */
export async function migrate(database: Database, steps: Steps): Promise<void> {
  await database.migration(async ({ query }) => {
    await query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    await query('CREATE TABLE IF NOT EXISTS agentd_schema (version integer NOT NULL)');
    const [row] = await query<{ version: number }>('SELECT version FROM agentd_schema');
    const found = row?.version ?? 0;
    if (found > steps.length)
      throw new StoreUnavailable(
        new StoreOfAnotherLayout(database.description, `schema ${found} instead of schema ${steps.length}`),
      );
    for (const step of steps.slice(found)) await query(step);
    if (row) await query('UPDATE agentd_schema SET version = $1', [steps.length]);
    else await query('INSERT INTO agentd_schema (version) VALUES ($1)', [steps.length]);
  });
}

/**
 * Reads `001-….sql`, `002-….sql`, … next to this file. The n-th file brings the schema to version n. Add new files;
 * never change existing files. Call this when the daemon starts: the database may be reached only after an upgrade has
 * replaced the files.
 */
export function readSteps(): Steps {
  const here = new URL('.', import.meta.url);
  return readdirSync(here)
    .filter((name) => /^\d{3}-.+\.sql$/.test(name))
    .sort()
    .map((name) => readFileSync(new URL(name, here), 'utf8'));
}
