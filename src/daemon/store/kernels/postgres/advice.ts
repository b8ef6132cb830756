import type { Database } from './database.ts';

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
