import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { KeyClaim } from '../claims.ts';
import {
  type IdempotencyStore,
  KEY_MEMORY_MS,
  type KeyState,
  type NewKey,
  type StoredAnswer,
} from '../idempotency.ts';
import { Claims } from './claims.ts';
import { type GroupCommit, read } from './writer.ts';

/** Stored instead of an answer if a write was started under the key and there is no answer yet. */
const UNANSWERED = JSON.stringify({ session_id: '', response: '' });
/** Maximum number of released keys that are remembered. */
const RELEASED_MAX = 10_000;

/** Idempotency keys. Answers are on disk; claims of running requests are in memory. */
export class SqliteIdempotency implements IdempotencyStore {
  /** The claims of keys, with the fingerprints of their requests. */
  readonly #claims: Claims<string>;
  /** Released keys, oldest first. */
  readonly #released = new Map<string, { fingerprint: string; until: number; counted: boolean }>();
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #find;
  readonly #upsert;
  readonly #deleteExpired;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock) {
    this.#commit = commit;
    this.#clock = clock;
    this.#claims = new Claims(commit, clock);
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

  claim(key: string, fingerprint: string): Promise<KeyState | (NewKey & { claim: KeyClaim })> {
    // Lookup and claim are atomic: nothing else runs between them.
    return read(() => {
      const found = this.#look(key, fingerprint);
      if (found.outcome !== 'new') return found;
      const owner = this.#claims.take(key, fingerprint);
      if (owner === null) return { outcome: 'running' };
      this.#released.delete(key);
      return { ...found, claim: { key, fingerprint, owner } };
    });
  }

  look(key: string, fingerprint: string): Promise<KeyState | NewKey> {
    return read(() => this.#look(key, fingerprint));
  }

  async renew({ key, owner }: KeyClaim): Promise<boolean> {
    return this.#claims.renew(key, owner);
  }

  async release({ key, owner, fingerprint }: KeyClaim, { counted } = { counted: false }): Promise<void> {
    if (!this.#claims.holds(key, owner)) return;
    this.#claims.release(key, owner);
    this.#released.delete(key);
    this.#released.set(key, { fingerprint, until: this.#clock.now() + KEY_MEMORY_MS, counted });
    const [oldest] = this.#released.keys();
    if (this.#released.size > RELEASED_MAX && oldest !== undefined) this.#released.delete(oldest);
  }

  /** Within a commit: makes the key known even if the process dies. */
  remember({ key, fingerprint }: KeyClaim): void {
    this.#upsert.run(key, fingerprint, this.#clock.now() + KEY_MEMORY_MS, UNANSWERED);
  }

  finish(claim: KeyClaim, answer: StoredAnswer, ttl_ms: number): Promise<boolean> {
    return this.#commit.write(() => {
      if (!this.holds(claim)) return false;
      this.addAnswer(claim, answer, ttl_ms);
      return true;
    });
  }

  /** Within a commit: whether the claim still belongs to its owner. */
  holds({ key, owner }: KeyClaim): boolean {
    return this.#claims.holds(key, owner);
  }

  /** Within a commit: stores the answer and ends the claim. */
  addAnswer({ key, fingerprint }: KeyClaim, answer: StoredAnswer, ttl_ms: number): void {
    this.#upsert.run(key, fingerprint, this.#clock.now() + ttl_ms, JSON.stringify(answer));
    this.#claims.end(key);
  }

  /** Within a commit: deletes at most `bite` expired answers. @returns the number of deleted answers. */
  deleteExpired(bite: number): number {
    return this.#deleteExpired.run(this.#clock.now(), bite).changes;
  }

  #look(key: string, fingerprint: string): KeyState | NewKey {
    if (this.#claims.isValid(key)) {
      return { outcome: this.#claims.detailOf(key) === fingerprint ? 'running' : 'other_body' };
    }
    const now = this.#clock.now();
    const done = this.#find.get(key, now);
    const remembered = this.#released.get(key);
    const released = remembered && remembered.until > now ? remembered : null;
    const known =
      done?.fingerprint ?? this.#claims.detailFor(key, KEY_MEMORY_MS) ?? released?.fingerprint ?? fingerprint;
    if (known !== fingerprint) return { outcome: 'other_body' };
    if (!done || done.answer === UNANSWERED)
      return released?.counted ? { outcome: 'new', counted: true } : { outcome: 'new' };
    return { outcome: 'done', answer: JSON.parse(done.answer) as StoredAnswer };
  }
}
