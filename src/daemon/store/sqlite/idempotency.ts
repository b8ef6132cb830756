import type Database from 'better-sqlite3';
import type { Clock } from '../../time/clock.ts';
import type { KeyClaim } from '../claims.ts';
import { clientOfKey } from '../client-of-key.ts';
import {
  ANONYMOUS_ANSWER_MS,
  type IdempotencyStore,
  KEY_MEMORY_MS,
  type KeyState,
  type NewKey,
  type StoredAnswer,
} from '../idempotency.ts';
import type { AnonymousBytes, AnonymousRows, ClientSize, IdleRow } from './anonymous-bytes.ts';
import { Claims } from './claims.ts';
import { type GroupCommit, read } from './writer.ts';

/** Stored instead of an answer if a write was started under the key and there is no answer yet. */
const UNANSWERED = JSON.stringify({ session_id: '', response: '' });
/** Approximate size of a row and its index entries without its texts, bytes. */
const ANSWER_BYTES = 250;
const SIZE = `iif(client IS NULL, 0, ${ANSWER_BYTES} + 2 * octet_length(key) + octet_length(answer))`;

/** Maximum number of released keys that are remembered. */
const RELEASED_MAX = 10_000;

/** Idempotency keys. Answers are on disk; claims of running requests are in memory. */
export class SqliteIdempotency implements IdempotencyStore, AnonymousRows {
  /** The claims of keys, with the fingerprints of their requests. */
  readonly #claims: Claims<string>;
  /** Released keys, oldest first. */
  readonly #released = new Map<string, { fingerprint: string; until: number; counted: boolean }>();
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #anonymous: AnonymousBytes;
  readonly #find;
  readonly #upsert;
  readonly #deleteExpired;
  readonly #delete;
  readonly #evict;
  readonly #sizes;
  readonly #longestIdle;

  constructor(db: Database.Database, commit: GroupCommit, clock: Clock, anonymous: AnonymousBytes) {
    this.#commit = commit;
    this.#clock = clock;
    this.#anonymous = anonymous;
    anonymous.include(this);
    this.#claims = new Claims(commit, clock);
    this.#find = db.prepare<[string, number], { fingerprint: string; answer: string }>(
      'SELECT fingerprint, answer FROM answers WHERE key = ? AND expires_at > ?',
    );
    this.#upsert = db.prepare<[string, string, string | null, number, string], ClientSize>(
      `INSERT OR REPLACE INTO answers (key, fingerprint, client, expires_at, answer) VALUES (?, ?, ?, ?, ?)
       RETURNING client, ${SIZE} AS bytes`,
    );
    const deleted = `RETURNING client, ${SIZE} AS bytes`;
    this.#deleteExpired = db.prepare<[number, number], ClientSize>(
      `DELETE FROM answers WHERE key IN (SELECT key FROM answers WHERE expires_at <= ? LIMIT ?) ${deleted}`,
    );
    this.#delete = db.prepare<[string], ClientSize>(`DELETE FROM answers WHERE key = ? ${deleted}`);
    this.#evict = db.prepare<[number], ClientSize>(`DELETE FROM answers WHERE rowid = ? ${deleted}`);
    this.#sizes = db.prepare<[], ClientSize>(
      `SELECT client, sum(${SIZE}) AS bytes FROM answers WHERE client IS NOT NULL GROUP BY client`,
    );
    this.#longestIdle = db.prepare<[number, string, number], IdleRow>(
      `SELECT rowid AS id, expires_at - ? AS idle_since FROM answers WHERE client = ? ORDER BY expires_at LIMIT ?`,
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
    // It does not count for its client, so that it is not deleted to make room: the write must not be repeated.
    this.#upsert.get(key, fingerprint, null, this.#clock.now() + KEY_MEMORY_MS, UNANSWERED);
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
    const client = clientOfKey(key);
    const expires_at = this.#clock.now() + ttl_ms;
    if (client !== null) this.#forget(this.#delete.get(key));
    const { bytes = 0 } =
      this.#upsert.get(key, fingerprint, client, expires_at, JSON.stringify(answer)) ?? {};
    this.#anonymous.add(client, bytes);
    this.#claims.end(key);
  }

  /** Within a commit: deletes at most `bite` expired answers. @returns the number of deleted answers. */
  deleteExpired(bite: number): number {
    const deleted = this.#deleteExpired.all(this.#clock.now(), bite);
    for (const row of deleted) this.#forget(row);
    return deleted.length;
  }

  sizes(): Iterable<ClientSize> {
    return this.#sizes.iterate();
  }

  longestIdle(client: string, limit: number): readonly IdleRow[] {
    return this.#longestIdle.all(ANONYMOUS_ANSWER_MS, client, limit);
  }

  evict(id: number): number {
    return this.#forget(this.#evict.get(id));
  }

  /** Within a commit: a row was deleted, and no longer counts. @returns the number of deleted rows. */
  #forget(deleted: ClientSize | undefined): number {
    if (deleted === undefined) return 0;
    this.#anonymous.add(deleted.client, -deleted.bytes);
    return 1;
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
