import type Database from 'better-sqlite3';
import { SEEN_MS } from '../bounds.ts';
import type { Resident } from './writer.ts';

/** What became of a message of a platform; null: nothing yet. */
export interface KnownMessage {
  /** What the guard said of it, as JSON. */
  readonly verdict: string | null;
  /** The message of the inbox. */
  readonly id: string | null;
}

interface Met extends KnownMessage {
  platform: string;
  message_id: string;
  /** Null: nothing of it is to be written. */
  expires_at: number | null;
}

const NOT_MET: KnownMessage = { verdict: null, id: null };

/**
 * The messages of platforms, by which repeats are known. The guard and the inbox each note what is theirs; what
 * is noted within one commit is read once and written once. All methods run within a commit.
 */
export class KnownMessages implements Resident {
  /** Those of this commit. */
  readonly #met = new Map<string, Met>();
  readonly #find;
  readonly #put;
  readonly #forget;

  constructor(db: Database.Database) {
    this.#find = db.prepare<[string, string, number], KnownMessage>(
      'SELECT verdict, id FROM known_messages WHERE platform = ? AND message_id = ? AND expires_at > ?',
    );
    this.#put = db.prepare<[string, string, string | null, string | null, number]>(
      'INSERT OR REPLACE INTO known_messages (platform, message_id, verdict, id, expires_at) VALUES (?, ?, ?, ?, ?)',
    );
    this.#forget = db.prepare<[number, number]>(
      `DELETE FROM known_messages WHERE (platform, message_id) IN
         (SELECT platform, message_id FROM known_messages WHERE expires_at <= ? LIMIT ?)`,
    );
  }

  find(platform: string, message_id: string, now: number): KnownMessage {
    return this.#meet(platform, message_id, now);
  }

  /** Known from now on for another 7 days, also by what was noted before. */
  note(platform: string, message_id: string, noted: Partial<KnownMessage>, now: number): void {
    Object.assign(this.#meet(platform, message_id, now), noted, { expires_at: now + SEEN_MS });
  }

  /** @returns how many. */
  deleteExpired(bite: number, now: number): number {
    return this.#forget.run(now, bite).changes;
  }

  load(): void {
    this.#met.clear();
  }

  save(): void {
    for (const { platform, message_id, verdict, id, expires_at } of this.#met.values())
      if (expires_at !== null) this.#put.run(platform, message_id, verdict, id, expires_at);
    this.#met.clear();
  }

  #meet(platform: string, message_id: string, now: number): Met {
    const key = JSON.stringify([platform, message_id]);
    const met = this.#met.get(key);
    if (met) return met;
    const found = this.#find.get(platform, message_id, now) ?? NOT_MET;
    const first = { platform, message_id, ...found, expires_at: null };
    this.#met.set(key, first);
    return first;
  }
}
