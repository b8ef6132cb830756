import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { Link, LinkStore } from '../store.ts';
import { type GroupCommit, read } from './writer.ts';

interface LinkRow extends Omit<Link, 'lapse_told'> {
  lapse_told: 0 | 1;
}

/** Links, one row a key. One whose time has passed is treated as none, whether deleted yet or not. */
export class SqliteLinks implements LinkStore {
  readonly #clock: Clock;
  readonly #commit: GroupCommit;
  readonly #get;
  readonly #put;
  readonly #remove;
  readonly #list;
  readonly #noteLapseTold;
  readonly #deleteExpired;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#clock = clock;
    this.#commit = commit;
    this.#get = db.prepare<[string, number], LinkRow>(
      'SELECT key, token, expires_at, lapse_told FROM links WHERE key = ? AND expires_at > ?',
    );
    this.#put = db.prepare<[string, string, number]>(
      'INSERT OR REPLACE INTO links (key, token, expires_at, lapse_told) VALUES (?, ?, ?, 0)',
    );
    this.#remove = db.prepare<[string]>('DELETE FROM links WHERE key = ?');
    this.#list = db.prepare<[string, string, number, number], LinkRow>(
      `SELECT key, token, expires_at, lapse_told FROM links
       WHERE key >= ? AND key < ? AND expires_at > ? ORDER BY key LIMIT ?`,
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

  put(key: string, token: string, expected: string | null, ttl_ms: number): Promise<boolean> {
    return this.#commit.write(() => {
      if ((this.#find(key)?.token ?? null) !== expected) return false;
      this.#put.run(key, token, this.#clock.now() + ttl_ms);
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
    // Keys that begin with `<platform>:jwt:` lie between it and the same text ending in the next character.
    const [from, to] = platform === undefined ? ['', '\u{10FFFF}'] : [`${platform}:jwt:`, `${platform}:jwt;`];
    return read(() => this.#list.all(from, to, this.#clock.now(), limit).map(linkOf));
  }

  noteLapseTold(key: string, token: string): Promise<void> {
    return this.#commit.write(() => {
      this.#noteLapseTold.run(key, token);
    });
  }

  /** Within a commit: deletes at most `bite` links whose time has passed. @returns how many. */
  deleteExpired(bite: number): number {
    return this.#deleteExpired.run(this.#clock.now(), bite).changes;
  }

  #find(key: string): Link | null {
    const row = this.#get.get(key, this.#clock.now());
    return row ? linkOf(row) : null;
  }
}

function linkOf({ lapse_told, ...row }: LinkRow): Link {
  return { ...row, lapse_told: lapse_told === 1 };
}
