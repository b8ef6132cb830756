import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { Clock } from '../../time/clock.ts';
import { ERASED_MS } from '../persons.ts';

/**
 * Hashes of the ids of erased sessions and turns. A run that was under way in another process does not know about the
 * erasure, so everything that it stores later is checked against these hashes.
 */
export class ErasedIds {
  readonly #clock: Clock;
  readonly #note;
  readonly #any;
  readonly #endsAt;
  readonly #over;

  constructor(db: Database.Database, clock: Clock) {
    this.#clock = clock;
    this.#note = db.prepare<[Buffer, number]>('INSERT OR REPLACE INTO erased (id, ends_at) VALUES (?, ?)');
    this.#any = db.prepare('SELECT 1 FROM erased LIMIT 1');
    this.#endsAt = db
      .prepare<[Buffer, number], number>('SELECT ends_at FROM erased WHERE id = ? AND ends_at > ?')
      .pluck();
    this.#over = db.prepare<[number, number]>(
      'DELETE FROM erased WHERE id IN (SELECT id FROM erased WHERE ends_at <= ? LIMIT ?)',
    );
  }

  /** Within a commit: records that the id was erased now. */
  note(id: string): void {
    this.#note.run(hashOf(id), this.#clock.now() + ERASED_MS);
  }

  has(id: string): boolean {
    return this.#at(id) !== null;
  }

  /** Whether the id was erased at this time or later, ms since the epoch. */
  hasSince(id: string, since: number): boolean {
    const at = this.#at(id);
    return at !== null && at >= since;
  }

  #at(id: string): number | null {
    // Usually nothing was erased recently, and a hash costs more than this query.
    if (this.#any.get() === undefined) return null;
    const ends_at = this.#endsAt.get(hashOf(id), this.#clock.now());
    return ends_at === undefined ? null : ends_at - ERASED_MS;
  }

  /** Within a commit: deletes at most `bite` expired ids. @returns the number of deleted ids. */
  deleteExpired(bite: number): number {
    return this.#over.run(this.#clock.now(), bite).changes;
  }
}

function hashOf(id: string): Buffer {
  return createHash('sha256').update(id).digest();
}
