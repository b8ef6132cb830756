import type Database from 'better-sqlite3';
import { SEEN_MS } from '../bounds.ts';
import type { Resident } from './writer.ts';

/** The facts that are recorded about a message of a platform. Each member is null if it is not recorded. */
export interface KnownMessage {
  /** The verdict of the guard, as JSON. */
  readonly verdict: string | null;
  /** The id of the message in the inbox. */
  readonly id: string | null;
  /** The user who wrote the message. */
  readonly user_id: string | null;
}

interface Met extends KnownMessage {
  platform: string;
  message_id: string;
  /** When the record will expire; null if it need not be written. */
  expires_at: number | null;
}

const NOT_MET: KnownMessage = { verdict: null, id: null, user_id: null };

/**
 * The messages that platforms have delivered, so that repeats are recognized. The guard and the inbox each record their
 * part. Within one commit, a message is read only once and written only once. All methods must be called within a
 * commit.
 */
export class KnownMessages implements Resident {
  /** The messages that this commit has read. */
  readonly #met = new Map<string, Met>();
  readonly #find;
  readonly #put;
  readonly #forget;

  constructor(db: Database.Database) {
    this.#find = db.prepare<[string, string, number], KnownMessage>(
      'SELECT verdict, id, user_id FROM known_messages WHERE platform = ? AND message_id = ? AND expires_at > ?',
    );
    this.#put = db.prepare<[string, string, string | null, string | null, string | null, number]>(
      `INSERT OR REPLACE INTO known_messages (platform, message_id, verdict, id, user_id, expires_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#forget = db.prepare<[number, number]>(
      `DELETE FROM known_messages WHERE (platform, message_id) IN
         (SELECT platform, message_id FROM known_messages WHERE expires_at <= ? LIMIT ?)`,
    );
  }

  find(platform: string, message_id: string, now: number): KnownMessage {
    return this.#meet(platform, message_id, now);
  }

  /** Remembers the message for another 7 days. Facts that were recorded before are kept. */
  note(platform: string, message_id: string, noted: Partial<KnownMessage>, now: number): void {
    Object.assign(this.#meet(platform, message_id, now), noted, { expires_at: now + SEEN_MS });
  }

  /** Deletes at most `bite` expired records. @returns the number of deleted records. */
  deleteExpired(bite: number, now: number): number {
    return this.#forget.run(now, bite).changes;
  }

  load(): void {
    this.#met.clear();
  }

  save(): void {
    for (const { platform, message_id, verdict, id, user_id, expires_at } of this.#met.values())
      if (expires_at !== null) this.#put.run(platform, message_id, verdict, id, user_id, expires_at);
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
