import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { Claim, IdempotencyStore, StoredAnswer } from '../idempotency.ts';
import { type GroupCommit, read } from './writer.ts';

/**
 * Answers are on disk; claims of running requests are in memory, since one daemon works on the file: a
 * claim dies with its process, as it must, and nothing has to be cleared up at the next start.
 */
export class SqliteIdempotency implements IdempotencyStore {
  /** Fingerprint of each request that runs, by key. */
  readonly #running = new Map<string, string>();
  readonly #clock: Clock;
  readonly #commit: GroupCommit;
  readonly #find;
  readonly #upsert;
  readonly #deleteExpired;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#clock = clock;
    this.#commit = commit;
    this.#find = db.prepare<[string, number], { fingerprint: string; answer: string }>(
      'SELECT fingerprint, answer FROM answers WHERE key = ? AND expires_at > ?',
    );
    this.#upsert = db.prepare<[string, string, number, string]>(
      'INSERT OR REPLACE INTO answers (key, fingerprint, expires_at, answer) VALUES (?, ?, ?, ?)',
    );
    this.#deleteExpired = db.prepare<[number, number]>(
      'DELETE FROM answers WHERE key IN (SELECT key FROM answers WHERE expires_at <= ? LIMIT ?)',
    );
  }

  claim(key: string, fingerprint: string): Promise<Claim> {
    // Look-up and claim are one: nothing else runs between them.
    return read(() => {
      const found = this.#look(key, fingerprint);
      if (found.outcome === 'new') this.#running.set(key, fingerprint);
      return found;
    });
  }

  look(key: string, fingerprint: string): Promise<Claim> {
    return read(() => this.#look(key, fingerprint));
  }

  #look(key: string, fingerprint: string): Claim {
    const running = this.#running.get(key);
    if (running !== undefined) return { outcome: running === fingerprint ? 'running' : 'other_body' };
    const done = this.#find.get(key, this.#clock.now());
    if (!done) return { outcome: 'new' };
    if (done.fingerprint !== fingerprint) return { outcome: 'other_body' };
    return { outcome: 'done', answer: JSON.parse(done.answer) as StoredAnswer };
  }

  async finish(key: string, answer: StoredAnswer, ttl_ms: number): Promise<void> {
    const fingerprint = this.#running.get(key);
    if (fingerprint === undefined) throw new Error('an answer can only be kept for a key that was claimed');
    await this.#commit.write(() => {
      this.#upsert.run(key, fingerprint, this.#clock.now() + ttl_ms, JSON.stringify(answer));
    });
    this.#running.delete(key);
  }

  async release(key: string): Promise<void> {
    this.#running.delete(key);
  }

  /** Within a commit: deletes at most `bite` answers whose time has passed. @returns how many. */
  deleteExpired(bite: number): number {
    return this.#deleteExpired.run(this.#clock.now(), bite).changes;
  }
}
