import type { Database } from './database.ts';

/** Settings of the server that weaken what the daemon promises, each with what a crash may cost. */
const WEAK: Readonly<Record<string, string>> = {
  fsync: 'a crash of the server may damage the database',
  synchronous_commit: 'a crash of the server loses what was acknowledged last',
  full_page_writes: 'a crash of the server may damage the database',
};

/** Warnings about the configuration of the server, one sentence each. */
export async function adviceOn(database: Database): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    "SELECT name FROM pg_settings WHERE name = ANY($1) AND setting = 'off' ORDER BY name",
    [Object.keys(WEAK)],
  );
  return rows.map(({ name }) => `${name} is off in Postgres: ${WEAK[name]}`);
}
