import { randomUUID } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { GuardLimits, GuardVerdict } from '../../guard/verdict.ts';
import type { Clock } from '../../time/clock.ts';
import { afterVerdict } from '../after-verdict.ts';
import type {
  Arrival,
  AttemptKind,
  AttemptOutcome,
  InboxClaim,
  InboxCount,
  InboxEdit,
  InboxMessage,
  InboxState,
  InboxStore,
  NewInboxMessage,
  Screened,
  Taken,
} from '../inbox.ts';
import { type InboxChange, settled } from '../settled.ts';
import type { TurnChanges } from '../turns.ts';
import type { SqliteGuard } from './guard.ts';
import { InboxQueues } from './inbox-queues.ts';
import { InboxReader } from './inbox-reader.ts';
import { InboxRetention } from './inbox-retention.ts';
import { COLUMNS, type InboxRow, messageOf } from './inbox-row.ts';
import type { KnownMessages } from './known-messages.ts';
import type { SqliteOutages } from './outages.ts';
import type { PendingActions } from './pending-actions.ts';
import type { SqliteTraces } from './traces.ts';
import { type GroupCommit, read } from './writer.ts';

export interface InboxBounds {
  clock: Clock;
  /** Maximum number of messages that have not ended; `INBOX_MAX` except in tests. */
  max: number;
  /** Maximum number of failed messages; `FAILED_MAX` except in tests. */
  failedMax: number;
}

/** Other parts of the store that the inbox uses. */
export interface InboxNeighbours {
  known: KnownMessages;
  guard: SqliteGuard;
  traces: SqliteTraces;
  pending: PendingActions;
  outages: SqliteOutages;
}

/** The values of a new row, in the order of its columns in the INSERT. */
type NewRow = [
  id: string,
  platform: string,
  queue: string,
  session_id: string | null,
  message_id: string | null,
  user_id: string | null,
  message: string | null,
  reply_to: string,
  reply: string | null,
  request_id: string,
  state: InboxState,
  sent_at: number,
  received_at: number,
  next_attempt_at: number,
  text_stored_at: number | null,
];

/** Where a message is stored: its queue, and its position there. */
interface Place {
  queue: string;
  seq: number;
}

/**
 * Restarts a failed message as if no attempt at it had been made. Its reply, if it has one, continues with the first
 * part that was not confirmed.
 */
const BEGIN_ANEW = `state = iif(reply IS NULL, 'waiting', 'replied'), attempts = 0, passing = 0, first_run_at = NULL,
  sends = 0, text_stored_at = iif(reply IS NULL, NULL, @now), parts_sent = iif(reply IS NULL, 0, parts_sent),
  interrupted = 0, notice = NULL, failure = NULL, notice_failure = NULL, ended_at = NULL, next_attempt_at = @now,
  wait_ms = 0`;

/**
 * The inbox: one row for each message, and the queues of these messages. Only one daemon uses the file, so a claim
 * lasts as long as its process, and every claim of another process is the claim of a dead process.
 */
export class SqliteInbox implements InboxStore {
  readonly #bounds: InboxBounds;
  readonly #commit: GroupCommit;
  readonly #queues: InboxQueues;
  readonly #neighbours: InboxNeighbours;
  readonly #reader: InboxReader;
  readonly #retention: InboxRetention;
  readonly #insert;
  readonly #edit;
  readonly #begin;
  readonly #addReply;
  readonly #settle;
  readonly #partsSent;
  readonly #notePartsSent;
  readonly #stored;
  readonly #find;
  readonly #reopen;
  readonly #reopenAll;
  readonly #hurry;
  readonly #delete;

  constructor(db: Database.Database, commit: GroupCommit, bounds: InboxBounds, neighbours: InboxNeighbours) {
    this.#bounds = bounds;
    this.#commit = commit;
    this.#neighbours = neighbours;
    this.#reader = new InboxReader(db);
    this.#retention = new InboxRetention(db, bounds.failedMax);
    this.#queues = new InboxQueues(db, randomUUID(), bounds.clock);
    commit.keep(this.#queues);
    this.#insert = db.prepare<NewRow>(
      `INSERT INTO inbox (id, platform, queue, session_id, message_id, user_id, message, reply_to, reply, request_id, state,
         attempts, sends, sent_at, received_at, next_attempt_at, text_stored_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?)`,
    );
    this.#edit = db.prepare<[string, string, string, string]>(
      `UPDATE inbox SET message = json_set(message, '$.text', ?, '$.edited', json('true'))
       WHERE id = ? AND state = 'waiting' AND attempts = 0
         AND json_extract(message, '$.user_id') = ? AND session_id = ?`,
    );
    this.#begin = db.prepare<[string, number, number], InboxRow>(
      `UPDATE inbox SET
         claim = ?,
         attempts = attempts + (state <> 'replied'),
         first_run_at = iif(state = 'replied', first_run_at, coalesce(first_run_at, ?)),
         sends = sends + (state = 'replied'),
         state = iif(state = 'replied', 'replied', 'running')
       WHERE seq = ? RETURNING ${COLUMNS}`,
    );
    this.#addReply = db.prepare<[string, string | null, number, string]>(
      `UPDATE inbox SET reply = ?, question = ?, state = 'replied', sends = 1, text_stored_at = ?, parts_sent = 0, failure = NULL,
         interrupted = 0
       WHERE id = ?`,
    );
    this.#settle = db.prepare<InboxChange & { id: string; now: number }>(
      `UPDATE inbox SET claim = NULL, state = @state, attempts = @attempts, passing = @passing,
         first_run_at = @first_run_at, sends = @sends, text_stored_at = @text_stored_at, parts_sent = @parts_sent,
         interrupted = @interrupted, next_attempt_at = @next_attempt_at, notice = @notice, failure = @failure,
         notice_failure = @notice_failure, ended_at = @ended_at, wait_ms = @next_attempt_at - @now
       WHERE id = @id`,
    );
    this.#partsSent = db.prepare<[string], number>('SELECT parts_sent FROM inbox WHERE id = ?').pluck();
    this.#notePartsSent = db.prepare<[number, string]>(
      'UPDATE inbox SET parts_sent = max(parts_sent, ?) WHERE id = ?',
    );
    this.#stored = db.prepare<[string, number], InboxRow & Place>(
      `SELECT seq, ${COLUMNS} FROM inbox WHERE ended_at IS NULL AND platform = ? AND state = 'replied'
         AND claim IS NULL AND text_stored_at <= ?`,
    );
    this.#find = db.prepare<[string], InboxRow>(`SELECT ${COLUMNS} FROM inbox WHERE id = ?`);
    this.#reopen = db.prepare<{ id: string; now: number }, Place>(
      `UPDATE inbox SET ${BEGIN_ANEW} WHERE id = @id AND state = 'failed' RETURNING queue, seq`,
    );
    this.#reopenAll = db.prepare<
      { platform: string | null; since: number; now: number },
      Place & { id: string }
    >(
      `UPDATE inbox SET ${BEGIN_ANEW}
       WHERE state = 'failed' AND ended_at >= @since AND (@platform IS NULL OR platform = @platform)
       RETURNING id, queue, seq`,
    );
    this.#hurry = db.prepare<{ id: string; now: number }, Place>(
      `UPDATE inbox SET next_attempt_at = @now, wait_ms = 0
       WHERE id = @id AND state IN ('waiting', 'replied') RETURNING queue, seq`,
    );
    this.#delete = db.prepare<[string], Place>('DELETE FROM inbox WHERE id = ? RETURNING queue, seq');
  }

  enqueue(messages: readonly NewInboxMessage[]): Promise<('kept' | 'repeated')[] | null> {
    return this.#commit.write(() => this.#keepAll(messages, this.#bounds.clock.now()));
  }

  screen(arrivals: readonly Arrival[], limits: GuardLimits): Promise<Screened> {
    const { guard, traces } = this.#neighbours;
    return this.#commit.write(() => {
      // The guard and the inbox use the same time, so that both remember a message equally long.
      const now = this.#bounds.clock.now();
      const verdicts = arrivals.map(({ guarded }) => guard.decide(guarded, limits, now));
      const followed = arrivals.map((arrival, index) =>
        afterVerdict(arrival, verdicts[index] as GuardVerdict, now),
      );
      for (const { trace } of followed) if (trace !== null) traces.insert(trace);
      const kept = this.#keepAll(
        followed.flatMap(({ message }) => message ?? []),
        now,
      );
      const outcomes = kept && followed.map(({ message }) => (message && kept.shift()) ?? null);
      return { verdicts, outcomes };
    });
  }

  edit({ platform, message_id, user_id, session_id, text }: InboxEdit): Promise<boolean> {
    return this.#commit.write(() => {
      const { id } = this.#neighbours.known.find(platform, message_id, this.#bounds.clock.now());
      return id !== null && this.#edit.run(text, id, user_id, session_id).changes > 0;
    });
  }

  claim(
    kind: AttemptKind,
    platforms: readonly string[],
    limit: number,
    which: 'fresh' | 'interrupted' = 'fresh',
  ): Promise<InboxClaim[]> {
    const wanted = { kind, interrupted: which === 'interrupted' };
    return this.#commit.write(() => {
      const now = this.#bounds.clock.now();
      return this.#queues.claim(wanted, platforms, limit).map(({ seq, owner }) => {
        const row = this.#begin.get(owner, now, seq);
        if (!row) throw new Error(`message ${seq} of the inbox is claimed but missing`);
        return { owner, message: messageOf(row) };
      });
    });
  }

  async take(platforms: readonly string[], room: Readonly<Record<AttemptKind, number>>): Promise<Taken> {
    const outages = await this.#neighbours.outages.list();
    const near = platforms.filter((name) => !outages.some(({ platform }) => platform === name));
    const died = await Promise.all([
      this.holdsInterrupted('run', platforms),
      this.holdsInterrupted('send', near),
    ]);
    if (died.includes(true)) return { outages, interrupted: true, claims: [] };
    // Both claims run in the same commit.
    const claims = await Promise.all([
      room.run > 0 ? this.claim('run', platforms, room.run) : [],
      room.send > 0 ? this.claim('send', near, room.send) : [],
    ]);
    return { outages, interrupted: false, claims: claims.flat() };
  }

  renew(claim: InboxClaim): Promise<boolean> {
    return this.#commit.read(() => this.holds(claim));
  }

  settle(claim: InboxClaim, outcome: AttemptOutcome): Promise<boolean> {
    return this.#commit.write(() => {
      if (!this.holds(claim)) return false;
      this.settleClaimed(claim, outcome);
      return true;
    });
  }

  /** Within a commit: records the outcome of an attempt at a claimed message, and ends the claim. */
  settleClaimed({ message: { id, queue } }: InboxClaim, outcome: AttemptOutcome): void {
    const row = this.#find.get(id);
    if (!row) throw new Error('a message that is claimed is not in the inbox');
    const now = this.#bounds.clock.now();
    const change = settled(messageOf(row), outcome, now);
    this.#settle.run({ id, now, ...change });
    this.#settleQuestion(id, change);
    this.#queues.followClaimed(queue);
  }

  /** Within a commit: whether the claim still belongs to its owner. */
  holds({ message: { queue }, owner }: InboxClaim): boolean {
    return this.#queues.isHeld(queue, owner);
  }

  /** Within a commit: stores the reply of a claimed message, and begins the first attempt to send it. */
  addReply({ claim, text, question = null }: NonNullable<TurnChanges['reply']>): void {
    const json = question === null ? null : JSON.stringify(question);
    this.#addReply.run(text, json, this.#bounds.clock.now(), claim.message.id);
  }

  partsSent(id: string): Promise<number> {
    return read(() => this.#partsSent.get(id) ?? 0);
  }

  notePartsSent(id: string, parts: number): Promise<void> {
    return this.#commit.write(() => {
      this.#notePartsSent.run(parts, id);
    });
  }

  expire(platform: string, stored_until: number, failure: string): Promise<number> {
    return this.#commit.write(() => {
      const rows = this.#stored.all(platform, stored_until);
      const now = this.#bounds.clock.now();
      for (const { seq, ...row } of rows) {
        const change = settled(messageOf(row), { kind: 'failed', failure }, now);
        this.#settle.run({ id: row.id, now, ...change });
        this.#settleQuestion(row.id, change);
        this.#queues.follow(row.queue, seq);
      }
      return rows.length;
    });
  }

  reap(): Promise<number> {
    return this.#commit.write(() => this.#queues.freeDead());
  }

  nextDueAt(kind: AttemptKind, platforms: readonly string[]): Promise<number | null> {
    return this.#commit.read(() => this.#queues.nextDueAt(kind, platforms));
  }

  holdsInterrupted(kind: AttemptKind, platforms: readonly string[]): Promise<boolean> {
    return this.#commit.read(() => this.#queues.holdsInterrupted(kind, platforms));
  }

  list(filter: { states: readonly InboxState[]; limit: number }): Promise<InboxMessage[]> {
    return this.#reader.list(filter);
  }

  counts(): Promise<InboxCount[]> {
    return this.#reader.counts();
  }

  find(id: string): Promise<InboxMessage | null> {
    return this.#reader.find(id);
  }

  search(id: string): Promise<InboxMessage[]> {
    return this.#reader.search(id);
  }

  retry(id: string): Promise<boolean> {
    return this.#change(() => {
      const change = { id, now: this.#bounds.clock.now() };
      return this.#reopen.get(change) ?? this.#hurry.get(change);
    });
  }

  retryFailed({ platform, failed_since }: { platform?: string; failed_since?: number }): Promise<string[]> {
    return this.#commit.write(() => {
      const now = this.#bounds.clock.now();
      const filter = { platform: platform ?? null, since: failed_since ?? 0, now };
      const reopened = this.#reopenAll.all(filter).sort((a, b) => a.seq - b.seq);
      for (const { queue, seq } of reopened) this.#queues.follow(queue, seq);
      return reopened.map(({ id }) => id);
    });
  }

  discard(id: string): Promise<boolean> {
    return this.#change(() => {
      this.#neighbours.pending.dropUnasked(id);
      return this.#delete.get(id);
    });
  }

  /**
   * Within a commit: deletes at most `bite` rows that are too old or exceed the limit. @returns the number of deleted
   * rows.
   */
  deleteExpired(bite: number): number {
    const now = this.#bounds.clock.now();
    const deleted = this.#retention.deleteExpired(bite, now);
    return deleted + this.#neighbours.known.deleteExpired(bite - deleted, now);
  }

  /** `enqueue` within a commit. */
  #keepAll(messages: readonly NewInboxMessage[], now: number): ('kept' | 'repeated')[] | null {
    const fresh = this.#withoutRepeats(messages, now);
    if (fresh.size > 0 && this.#queues.size + fresh.size > this.#bounds.max) return null;
    for (const message of fresh) this.#keep(message, now);
    return messages.map((message) => (fresh.has(message) ? 'kept' : 'repeated'));
  }

  #withoutRepeats(messages: readonly NewInboxMessage[], now: number): Set<NewInboxMessage> {
    const seen = new Set<string>();
    return new Set(
      messages.filter(({ platform, message_id }) => {
        if (message_id === null) return true;
        const identity = JSON.stringify([platform, message_id]);
        if (seen.has(identity) || this.#neighbours.known.find(platform, message_id, now).id !== null)
          return false;
        seen.add(identity);
        return true;
      }),
    );
  }

  #keep(message: NewInboxMessage, now: number): void {
    const { id, platform, queue, message_id, user_id, reply } = message;
    const state = reply === null ? 'waiting' : 'replied';
    // Positional parameters, because named parameters would cost more time than the rest of the statement.
    const { lastInsertRowid } = this.#insert.run(
      id,
      platform,
      queue,
      message.session_id,
      message_id,
      user_id,
      message.message && JSON.stringify(message.message),
      JSON.stringify(message.reply_to),
      reply,
      message.request_id,
      state,
      message.sent_at,
      now,
      now,
      reply === null ? null : now,
    );
    this.#queues.append(queue, {
      seq: Number(lastInsertRowid),
      platform,
      sending: state === 'replied',
      due_at: now,
    });
    if (message_id !== null) this.#neighbours.known.note(platform, message_id, { id, user_id }, now);
  }

  /** A question counts as asked once the reply that contains it was sent. */
  #settleQuestion(id: string, { state }: InboxChange): void {
    if (state === 'done') this.#neighbours.pending.noteAsked(id);
    if (state === 'failed') this.#neighbours.pending.dropUnasked(id);
  }

  /** Changes a message on behalf of an administrator. False if there is none. */
  #change(change: () => Place | undefined): Promise<boolean> {
    return this.#commit.write(() => {
      const changed = change();
      if (changed) this.#queues.follow(changed.queue, changed.seq);
      return changed !== undefined;
    });
  }
}
