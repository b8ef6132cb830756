import type Database from 'better-sqlite3';
import type { PersonMatch } from '../person-match.ts';
import { type PackedUser, unpackUser } from './packed-hits.ts';
import type { PackedEntry } from './state-log.ts';

/**
 * Erases keys from the logs of the guard and of the rate limits. One row contains many keys, so the row is written
 * again without the erased keys.
 */
export class PersonLogs {
  readonly #logs;

  constructor(db: Database.Database) {
    const log = (table: string) => ({
      rows: db.prepare<[], { id: number; entries: string }>(`SELECT id, entries FROM ${table} ORDER BY id`),
      update: db.prepare<[string, number]>(`UPDATE ${table} SET entries = ? WHERE id = ?`),
    });
    this.#logs = { guard: log('guard_log'), limits: log('limit_log') };
  }

  guardKeys(match: PersonMatch): Set<string> {
    return this.#keys('guard', (key, packed) =>
      match.guard(key, packed === null ? null : unpackUser(packed as PackedUser)),
    );
  }

  limitKeys(match: PersonMatch): Set<string> {
    return this.#keys('limits', (key) => match.limit(key));
  }

  /** Within a commit: deletes keys with their states from a log. */
  delete(log: 'guard' | 'limits', keys: ReadonlySet<string>): void {
    if (keys.size === 0) return;
    const { rows, update } = this.#logs[log];
    for (const { id, entries } of rows.all()) {
      const packed = JSON.parse(entries) as PackedEntry[];
      const left = packed.filter(([key]) => !keys.has(key));
      if (left.length < packed.length) update.run(JSON.stringify(left), id);
    }
  }

  /** The selected keys that occur in the log, even if only in a row that says that their state was deleted. */
  #keys(log: 'guard' | 'limits', isTheirs: (key: string, packed: unknown) => boolean): Set<string> {
    const entries = this.#logs[log].rows.all().flatMap((row) => JSON.parse(row.entries) as PackedEntry[]);
    const whole = ([, , packed, mark]: PackedEntry) =>
      packed !== undefined && mark === undefined ? packed : null;
    return new Set(entries.filter((entry) => isTheirs(entry[0], whole(entry))).map(([key]) => key));
  }
}
