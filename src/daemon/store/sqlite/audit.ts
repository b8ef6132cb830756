import { randomBytes } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { Clock } from '../../time/clock.ts';
import { AUDIT_RETENTION_MS, type AuditLine, type AuditStore, type NewAuditLine } from '../audit.ts';
import { type GroupCommit, read } from './writer.ts';

const KEY_BYTES = 32;

export class SqliteAudit implements AuditStore {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #insert;
  readonly #list;
  readonly #makeKey;
  readonly #key;
  readonly #delete;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
    this.#insert = db.prepare<AuditLine>(
      'INSERT INTO audit (at, user, command, about, person) VALUES (@at, @user, @command, @about, @person)',
    );
    this.#list = db.prepare<{ since: number; kept: number; limit: number }, AuditLine>(
      `SELECT at, user, command, about, person FROM audit WHERE at >= @since AND at > @kept
       ORDER BY at DESC, id DESC LIMIT @limit`,
    );
    this.#makeKey = db.prepare<[Uint8Array]>('INSERT OR IGNORE INTO audit_key (id, key) VALUES (1, ?)');
    this.#key = db.prepare<[], Uint8Array>('SELECT key FROM audit_key').pluck();
    this.#delete = db.prepare<[number, number]>(
      'DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at <= ? ORDER BY at LIMIT ?)',
    );
  }

  note(line: NewAuditLine): Promise<void> {
    return this.#commit.write(() => {
      this.#insert.run({ ...line, at: this.#clock.now() });
    });
  }

  list({ since = 0, limit }: { since?: number; limit: number }): Promise<AuditLine[]> {
    return read(() => this.#list.all({ since, limit, kept: this.#keptSince() }));
  }

  key(): Promise<Uint8Array> {
    return this.#commit.write(() => {
      this.#makeKey.run(randomBytes(KEY_BYTES));
      return this.#key.get() as Uint8Array;
    });
  }

  /** Within a commit: deletes at most `bite` lines that are too old. @returns the number of deleted lines. */
  deleteExpired(bite: number): number {
    return this.#delete.run(this.#keptSince(), bite).changes;
  }

  #keptSince(): number {
    return this.#clock.now() - AUDIT_RETENTION_MS;
  }
}
