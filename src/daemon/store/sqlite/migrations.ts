import { readdirSync, readFileSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { StoreTooNew } from '../failures.ts';
import { asStoreFailure } from './unavailable.ts';

/** The steps that build the schema, oldest first. The n-th step brings the schema to version n. */
export type Migrations = readonly string[];

/**
 * Reads `001-….sql`, `002-….sql`, … next to this file. Add new files; never change the statements of existing files.
 */
export function readMigrations(): Migrations {
  const here = new URL('.', import.meta.url);
  const names = readdirSync(here)
    .filter((name) => /^\d{3}-.+\.sql$/.test(name))
    .sort();
  return names.map((name, index) => {
    if (Number(name.slice(0, 3)) !== index + 1) throw new Error(`migration ${name} is out of sequence`);
    return readFileSync(new URL(name, here), 'utf8');
  });
}

/**
 * The schema version of a database; 0 if it has no schema yet.
 * @throws StoreTooNew if it is newer than the program; StoreUnavailable if it cannot be read.
 */
export function versionOf(db: Database.Database, migrations: Migrations): number {
  try {
    return schemaVersion(db, migrations);
  } catch (error) {
    throw asStoreFailure(error);
  }
}

/**
 * Brings a database to the latest schema version in one transaction, so that it always has either the old schema or the
 * new one.
 * @throws StoreTooNew if the database is newer than the program; the database is not changed.
 */
export function migrate(db: Database.Database, migrations: Migrations): void {
  try {
    db.transaction(() => {
      const found = schemaVersion(db, migrations);
      for (const step of migrations.slice(found)) db.exec(step);
      if (found < migrations.length) db.pragma(`user_version = ${migrations.length}`);
    }).immediate();
  } catch (error) {
    throw asStoreFailure(error);
  }
}

/** The schema version; 0 if there is no schema yet. */
function schemaVersion(db: Database.Database, migrations: Migrations): number {
  const found = db.pragma('user_version', { simple: true }) as number;
  if (found > migrations.length) throw new StoreTooNew(db.name, found, migrations.length);
  return found;
}
