import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import { ERASED_MS } from '../persons.ts';

/**
 * Ids of sessions and turns that were erased, as hashes. A run that was under way in another process does not know of the
 * erasure: what it stores later is held against them.
 */
export class ErasedIds {
  readonly #clock: Clock;
  readonly #note;
  readonly #has;
  readonly #over;

  constructor(db: Database.Database, clock: Clock) {
    this.#clock = clock;
    this.#note = db.prepare<[Buffer, number]>('INSERT OR REPLACE INTO erased (id, ends_at) VALUES (?, ?)');
    this.#has = db.prepare<[Buffer, number], 1>('SELECT 1 FROM erased WHERE id = ? AND ends_at > ?').pluck();
    this.#over = db.prepare<[number, number]>(
      'DELETE FROM erased WHERE id IN (SELECT id FROM erased WHERE ends_at <= ? LIMIT ?)',
    );
  }

  /** Within a commit. */
  note(id: string): void {
    this.#note.run(hashOf(id), this.#clock.now() + ERASED_MS);
  }

  has(id: string): boolean {
    return this.#has.get(hashOf(id), this.#clock.now()) === 1;
  }

  /** Within a commit: deletes at most `bite` of those whose time has passed. @returns how many. */
  deleteExpired(bite: number): number {
    return this.#over.run(this.#clock.now(), bite).changes;
  }
}

function hashOf(id: string): Buffer {
  return createHash('sha256').update(id).digest();
}
