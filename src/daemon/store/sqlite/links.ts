import type Database from 'better-sqlite3';
import type { PersonKey } from '../../identity/identity.ts';
import type { Clock } from '../../time/clock.ts';
import type { Link, LinkAlias, LinkStore, NewLink } from '../links.ts';
import { type GroupCommit, read } from './writer.ts';

export interface LinkRow {
  key: string;
  token: string;
  expires_at: number;
  lapse_told: 0 | 1;
  alias: string | null;
  alias_person: PersonKey | null;
}

export const LINK_COLUMNS = 'key, token, expires_at, lapse_told, alias, alias_person';

/** Links, one row for each key. An expired link is treated as absent, even if it is not deleted yet. */
export class SqliteLinks implements LinkStore {
  readonly #clock: Clock;
  readonly #commit: GroupCommit;
  readonly #get;
  readonly #getByAlias;
  readonly #dropAlias;
  readonly #put;
  readonly #freeAlias;
  readonly #bindAlias;
  readonly #remove;
  readonly #list;
  readonly #noteLapseTold;
  readonly #deleteExpired;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#clock = clock;
    this.#commit = commit;
    this.#get = db.prepare<[string, number], LinkRow>(
      `SELECT ${LINK_COLUMNS} FROM links WHERE key = ? AND expires_at > ?`,
    );
    this.#getByAlias = db.prepare<[string, number], LinkRow>(
      `SELECT ${LINK_COLUMNS} FROM links WHERE found_by = ? AND expires_at > ?`,
    );
    this.#dropAlias = db.prepare<[string, number, PersonKey]>(
      `UPDATE links SET alias = NULL, alias_person = NULL, found_by = NULL
       WHERE key = ? AND (expires_at <= ? OR alias_person <> ?)`,
    );
    this.#put = db.prepare<[string, string, number]>(
      `INSERT INTO links (key, token, expires_at, lapse_told) VALUES (?, ?, ?, 0)
       ON CONFLICT DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at, lapse_told = 0`,
    );
    this.#freeAlias = db.prepare<[string]>('UPDATE links SET found_by = NULL WHERE found_by = ?');
    this.#bindAlias = db.prepare<[string, PersonKey, string, string]>(
      'UPDATE links SET alias = ?, alias_person = ?, found_by = ? WHERE key = ?',
    );
    this.#remove = db.prepare<[string]>('DELETE FROM links WHERE key = ?');
    this.#list = db.prepare<[string, string, number, number], LinkRow>(
      `SELECT ${LINK_COLUMNS} FROM links WHERE key >= ? AND key < ? AND expires_at > ? ORDER BY key LIMIT ?`,
    );
    this.#noteLapseTold = db.prepare<[string, string]>(
      'UPDATE links SET lapse_told = 1 WHERE key = ? AND token = ?',
    );
    this.#deleteExpired = db.prepare<[number, number]>(
      'DELETE FROM links WHERE key IN (SELECT key FROM links WHERE expires_at <= ? LIMIT ?)',
    );
  }

  get(key: string): Promise<Link | null> {
    return read(() => this.#find(key));
  }

  find(keys: readonly string[], alias: string): Promise<Link | null> {
    return read(() => {
      const named = keys.map((key) => this.#find(key)).find((link) => link !== null);
      const row = named ? undefined : this.#getByAlias.get(alias, this.#clock.now());
      return named ?? (row ? linkOf(row) : null);
    });
  }

  findByAlias(alias: string): Promise<Link | null> {
    return read(() => {
      const row = this.#getByAlias.get(alias, this.#clock.now());
      return row ? linkOf(row) : null;
    });
  }

  put({ key, token, person, ttl_ms }: NewLink, expected: string | null): Promise<boolean> {
    return this.#commit.write(() => {
      if ((this.#find(key)?.token ?? null) !== expected) return false;
      const now = this.#clock.now();
      this.#dropAlias.run(key, now, person);
      this.#put.run(key, token, now + ttl_ms);
      return true;
    });
  }

  bindAlias(key: string, token: string, { alias, person }: LinkAlias): Promise<boolean> {
    return this.#commit.write(() => {
      const found = this.#find(key);
      if (found?.token !== token) return false;
      if (found.alias?.person === person && found.alias.alias !== alias) return false;
      this.#freeAlias.run(alias);
      this.#bindAlias.run(alias, person, alias, key);
      return true;
    });
  }

  remove(key: string, expected?: string): Promise<boolean> {
    return this.#commit.write(() => {
      const found = this.#find(key);
      if (!found || (expected !== undefined && found.token !== expected)) return false;
      return this.#remove.run(key).changes > 0;
    });
  }

  list({ platform, limit }: { platform?: string; limit: number }): Promise<Link[]> {
    // All keys that begin with `<platform>:jwt:` sort between this prefix and the prefix with `;`, the character after
    // `:`.
    const [from, to] = platform === undefined ? ['', '\u{10FFFF}'] : [`${platform}:jwt:`, `${platform}:jwt;`];
    return read(() => this.#list.all(from, to, this.#clock.now(), limit).map(linkOf));
  }

  noteExpiryNotified(key: string, token: string): Promise<void> {
    return this.#commit.write(() => {
      this.#noteLapseTold.run(key, token);
    });
  }

  /** Within a commit: deletes at most `bite` expired links. @returns the number of deleted links. */
  deleteExpired(bite: number): number {
    return this.#deleteExpired.run(this.#clock.now(), bite).changes;
  }

  #find(key: string): Link | null {
    const row = this.#get.get(key, this.#clock.now());
    return row ? linkOf(row) : null;
  }
}

export function linkOf({ lapse_told, alias, alias_person, ...row }: LinkRow): Link {
  return {
    ...row,
    expiry_notified: lapse_told === 1,
    alias: alias === null || alias_person === null ? null : { alias, person: alias_person },
  };
}
