import { FilesNotRewritten } from '../../persons/persons.ts';
import type { Database } from './database.ts';

const ADVICE =
  'Run `agentd person erase` again while no backup and no other long transaction runs, or `VACUUM (FULL)` on the tables that begin with agentd_.';

/**
 * Writes the tables of the schema again, so that their files have no byte of deleted rows. Other statements wait
 * meanwhile. The table of memories is among them if it is in the same database.
 * @throws FilesNotRewritten
 */
export async function rewriteTables(database: Database): Promise<void> {
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
