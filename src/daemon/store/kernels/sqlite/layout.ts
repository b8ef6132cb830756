import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreOfAnotherLayout } from '../../failures.ts';
import { asStoreFailure } from './unavailable.ts';

/** Maximum number of differences that a message names. */
const NAMED_MAX = 3;

/**
 * Every table, index and trigger with its definition. SQLite itself defines the tables in which FTS5 stores the index
 * `memory_terms`, and a later version of SQLite may define them differently.
 */
const PARTS = `SELECT type || ' ' || name AS name,
    tbl_name || iif(type = 'table' AND name GLOB 'memory_terms_*', '', coalesce(sql, '')) AS definition
  FROM sqlite_schema`;

/**
 * Creates the tables in an empty database. A database that is not empty must have the layout of this version, and is not
 * changed.
 * @throws StoreOfAnotherLayout, StoreUnavailable
 */
export function prepareLayout(db: Database.Database): void {
  const create = db.transaction(() => {
    if (readParts(db).size === 0) db.exec(readTables());
  });
  let difference: string | null;
  try {
    // Finding the tables needs no lock, and only one process creates them.
    if (readParts(db).size === 0) create.immediate();
    difference = layoutDifference(db);
  } catch (error) {
    throw asStoreFailure(error);
  }
  if (difference !== null) throw new StoreOfAnotherLayout(db.name, difference);
}

/**
 * The tables, indexes and triggers by which a database differs from the layout of this version, for people; null if it
 * has exactly this layout. A trigger that agentd did not create could change data at any time.
 */
export function layoutDifference(db: Database.Database): string | null {
  const [found, wanted] = [readParts(db), wantedParts()];
  const names = [...new Set([...wanted.keys(), ...found.keys()])].filter(
    (name) => found.get(name) !== wanted.get(name),
  );
  if (names.length === 0) return null;
  const more = names.length > NAMED_MAX ? `, and ${names.length - NAMED_MAX} more` : '';
  return `${names.sort().slice(0, NAMED_MAX).join(', ')}${more}`;
}

/** A short name of the layout. Two versions of agentd with the same name can use the same database. */
export function layoutName(): string {
  return hash('sha256', readTables(), 'hex').slice(0, 8);
}

function wantedParts(): Map<string, string> {
  const db = new Database(':memory:');
  try {
    db.exec(readTables());
    return readParts(db);
  } finally {
    db.close();
  }
}

function readParts(db: Database.Database): Map<string, string> {
  const parts = db.prepare<[], { name: string; definition: string }>(PARTS).all();
  return new Map(parts.map(({ name, definition }) => [name, definition]));
}

function readTables(): string {
  return readFileSync(new URL('schema.sql', import.meta.url), 'utf8');
}
