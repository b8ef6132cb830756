import { randomUUID } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { Clock } from '../../clock.ts';
import type { GuardedMessage, GuardLimits, GuardVerdict } from '../../guard/verdict.ts';
import type {
  Admission,
  Consequence,
  InboxClaim,
  InboxMessage,
  InboxState,
  InboxStore,
  NewInboxMessage,
} from '../inbox.ts';
import type { SqliteGuard } from './guard.ts';
import { InboxQueues } from './inbox-queues.ts';
import type { SqliteTraces } from './traces.ts';
import { type GroupCommit, read } from './writer.ts';

/** Messages that may wait or run at once; beyond it none is taken. */
export const INBOX_MAX = 100_000;
/** Failed messages that are kept at most; beyond it the oldest go. */
export const FAILED_MAX = 10_000;

/** Messages that one search answers at most. */
const FOUND_MAX = 100;

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long a repeat of a message is known (decisions §6), and a finished message is kept to be looked at. */
const KNOWN_MS = 7 * DAY_MS;
/** How long a failed message waits to be looked at. */
const FAILED_MS = 30 * DAY_MS;

export interface InboxBounds {
  clock: Clock;
  /** Open messages at most; `INBOX_MAX` but for tests. */
  max: number;
  /** Failed messages at most; `FAILED_MAX` but for tests. */
  failedMax: number;
}

/** Whose writes share a commit with the inbox's own. */
export interface InboxNeighbours {
  guard: SqliteGuard;
  traces: SqliteTraces;
}

interface KnownId {
  platform: string;
  message_id: string;
  id: string;
  expires_at: number;
  now: number;
}

/** A message as its table holds it, without `seq`. */
interface InboxRow extends Omit<InboxMessage, 'message' | 'reply_to'> {
  message: string | null;
  reply_to: string;
}

const COLUMNS = `id, platform, queue, session_id, message_id, message, reply_to, reply, apology, failure,
  request_id, state, attempts, sends, sent_at, received_at, next_attempt_at, ended_at`;

/**
 * The inbox as two tables: the messages, and one row for each queue that has any. One daemon works on the
 * file, so a claim lasts as long as its process: claims of another instance are those of a dead one.
 */
export class SqliteInbox implements InboxStore {
  readonly #bounds: InboxBounds;
  readonly #commit: GroupCommit;
  readonly #queues: InboxQueues;
  readonly #neighbours: InboxNeighbours;
  readonly #open;
  readonly #isKnown;
  readonly #know;
  readonly #insert;
  readonly #edit;
  readonly #begin;
  readonly #keepReply;
  readonly #retryLater;
  readonly #apologise;
  readonly #end;
  readonly #list;
  readonly #find;
  readonly #search;
  readonly #reopen;
  readonly #hurry;
  readonly #delete;
  readonly #deleteEnded;
  readonly #deleteFailed;
  readonly #forget;

  constructor(db: Database.Database, commit: GroupCommit, bounds: InboxBounds, neighbours: InboxNeighbours) {
    this.#bounds = bounds;
    this.#commit = commit;
    this.#neighbours = neighbours;
    this.#queues = new InboxQueues(db, randomUUID());
    this.#open = db.prepare<[], number>('SELECT messages FROM inbox_open').pluck();
    this.#isKnown = db.prepare<[string, string, number]>(
      'SELECT 1 FROM known_messages WHERE platform = ? AND message_id = ? AND expires_at > ? AND id IS NOT NULL',
    );
    this.#know = db.prepare<KnownId>(
      `INSERT INTO known_messages (platform, message_id, id, expires_at)
       VALUES (@platform, @message_id, @id, @expires_at)
       ON CONFLICT DO UPDATE SET id = @id, verdict = iif(expires_at > @now, verdict, NULL), expires_at = @expires_at`,
    );
    this.#insert = db
      .prepare<InboxRow, number>(
        `INSERT INTO inbox (${COLUMNS})
         VALUES (@id, @platform, @queue, @session_id, @message_id, @message, @reply_to, @reply, @apology, @failure,
           @request_id, @state, @attempts, @sends, @sent_at, @received_at, @next_attempt_at, @ended_at)
         RETURNING seq`,
      )
      .pluck();
    this.#edit = db.prepare<[string, string, string, number]>(
      `UPDATE inbox SET message = json_set(message, '$.text', ?)
       WHERE id = (SELECT id FROM known_messages WHERE platform = ? AND message_id = ? AND expires_at > ?)
         AND state = 'waiting' AND attempts = 0`,
    );
    this.#begin = db.prepare<[number], InboxRow>(
      `UPDATE inbox SET
         attempts = attempts + (state <> 'replied'),
         sends = sends + (state = 'replied'),
         state = iif(state = 'replied', 'replied', 'running')
       WHERE seq = ? RETURNING ${COLUMNS}`,
    );
    this.#keepReply = db.prepare<[string, string]>(
      `UPDATE inbox SET reply = ?, state = 'replied', sends = 1 WHERE id = ?`,
    );
    this.#retryLater = db.prepare<[number, string, string]>(
      `UPDATE inbox SET state = iif(state = 'replied', 'replied', 'waiting'), next_attempt_at = ?, failure = ?
       WHERE id = ?`,
    );
    this.#apologise = db.prepare<[string, string, number, string]>(
      `UPDATE inbox SET apology = ?, failure = ?, state = 'replied', sends = 0, next_attempt_at = ? WHERE id = ?`,
    );
    this.#end = db.prepare<{ id: string; state: InboxState; failure: string | null; now: number }>(
      'UPDATE inbox SET state = @state, failure = @failure, ended_at = @now WHERE id = @id',
    );
    // In two halves, since each has its index.
    this.#list = db.prepare<{ states: string; limit: number }, InboxRow>(
      `SELECT ${COLUMNS} FROM inbox WHERE seq IN
         (SELECT seq FROM inbox WHERE ended_at IS NULL AND state IN (SELECT value FROM json_each(@states))
          UNION ALL
          SELECT seq FROM inbox WHERE ended_at IS NOT NULL AND state IN (SELECT value FROM json_each(@states)))
       ORDER BY seq DESC LIMIT @limit`,
    );
    this.#find = db.prepare<[string], InboxRow>(`SELECT ${COLUMNS} FROM inbox WHERE id = ?`);
    // An id is looked for channel by channel, and among those that are not done: there are indexes for both.
    const named = `id = @id OR message_id = @id OR (platform = @channel AND message_id = @rest)
      OR request_id = @id OR session_id = @id`;
    this.#search = db.prepare<{ id: string; channel: string; rest: string }, InboxRow>(
      `WITH RECURSIVE channels (name) AS (
         SELECT min(platform) FROM known_messages UNION ALL
         SELECT (SELECT min(platform) FROM known_messages WHERE platform > name) FROM channels
         WHERE name IS NOT NULL)
       SELECT ${COLUMNS} FROM inbox WHERE id IN (
         SELECT @id UNION ALL
         SELECT known.id FROM channels CROSS JOIN known_messages AS known
           ON platform = name AND (message_id = @id OR (name = @channel AND message_id = @rest)) UNION ALL
         SELECT id FROM inbox WHERE ended_at IS NULL AND (${named}) UNION ALL
         SELECT id FROM inbox WHERE ended_at IS NOT NULL AND state = 'failed' AND (${named}))
       ORDER BY seq DESC LIMIT ${FOUND_MAX}`,
    );
    this.#reopen = db
      .prepare<{ id: string; now: number }, string>(
        `UPDATE inbox SET state = iif(reply IS NULL, 'waiting', 'replied'), attempts = 0, sends = 0, apology = NULL,
           failure = NULL, ended_at = NULL, next_attempt_at = @now
         WHERE id = @id AND state = 'failed' RETURNING queue`,
      )
      .pluck();
    this.#hurry = db
      .prepare<{ id: string; now: number }, string>(
        `UPDATE inbox SET next_attempt_at = @now WHERE id = @id AND state IN ('waiting', 'replied') RETURNING queue`,
      )
      .pluck();
    this.#delete = db.prepare<[string], { seq: number; queue: string; ended_at: number | null }>(
      'DELETE FROM inbox WHERE id = ? RETURNING seq, queue, ended_at',
    );
    this.#deleteEnded = db.prepare<[InboxState, number, number]>(
      'DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox WHERE state = ? AND ended_at <= ? LIMIT ?)',
    );
    this.#deleteFailed = db.prepare<[number, number]>(
      `DELETE FROM inbox WHERE seq IN
         (SELECT seq FROM inbox WHERE state = 'failed' ORDER BY ended_at DESC LIMIT ? OFFSET ?)`,
    );
    this.#forget = db.prepare<[number, number]>(
      `DELETE FROM known_messages WHERE (platform, message_id) IN
         (SELECT platform, message_id FROM known_messages WHERE expires_at <= ? LIMIT ?)`,
    );
  }

  enqueue(messages: readonly NewInboxMessage[]): Promise<('kept' | 'repeated')[] | null> {
    return this.#commit.write(() => this.#keepAll(messages, this.#bounds.clock.now()));
  }

  admit(
    messages: readonly GuardedMessage[],
    limits: GuardLimits,
    follow: (verdict: GuardVerdict, place: number) => Consequence,
  ): Promise<Admission> {
    const { guard, traces } = this.#neighbours;
    return this.#commit.write(() => {
      // One time for both, so that what is known of a message is known equally long.
      const now = this.#bounds.clock.now();
      const verdicts = messages.map((message) => guard.decide(message, limits, now));
      const consequences = verdicts.map(follow);
      for (const { trace } of consequences) if (trace !== null) traces.insert(trace);
      const kept = this.#keepAll(
        consequences.flatMap(({ keep }) => keep ?? []),
        now,
      );
      const outcomes = kept && consequences.map(({ keep }) => (keep && kept.shift()) ?? null);
      return { verdicts, outcomes };
    });
  }

  edit(platform: string, message_id: string, text: string): Promise<boolean> {
    return this.#commit.write(
      () => this.#edit.run(text, platform, message_id, this.#bounds.clock.now()).changes > 0,
    );
  }

  claim(kind: 'run' | 'send', platforms: readonly string[], limit: number): Promise<InboxClaim[]> {
    return this.#commit.write(() =>
      this.#queues.claim(kind, platforms, this.#bounds.clock.now(), limit).flatMap(({ first, token }) => {
        const row = this.#begin.get(first);
        return row ? [{ token, message: messageOf(row) }] : [];
      }),
    );
  }

  renew(claim: InboxClaim): Promise<boolean> {
    return read(() => this.#queues.isHeld(claim.message.queue, claim.token));
  }

  keepReply(claim: InboxClaim, reply: string): Promise<boolean> {
    return this.#commit.write(() => {
      if (!this.#queues.isHeld(claim.message.queue, claim.token)) return false;
      return this.#keepReply.run(reply, claim.message.id).changes > 0;
    });
  }

  retryLater(claim: InboxClaim, at: number, failure: string): Promise<boolean> {
    return this.#endClaim(claim, ({ id }) => this.#retryLater.run(at, failure, id));
  }

  apologise(claim: InboxClaim, apology: string, failure: string): Promise<boolean> {
    return this.#endClaim(claim, ({ id }) =>
      this.#apologise.run(apology, failure, this.#bounds.clock.now(), id),
    );
  }

  finish(claim: InboxClaim): Promise<boolean> {
    const { apology, failure } = claim.message;
    return apology === null ? this.#ended(claim, 'done', null) : this.#ended(claim, 'failed', failure);
  }

  fail(claim: InboxClaim, failure: string): Promise<boolean> {
    return this.#ended(claim, 'failed', failure);
  }

  reap(): Promise<number> {
    return this.#commit.write(() => this.#queues.freeDead());
  }

  nextDueAt(platforms: readonly string[]): Promise<number | null> {
    return read(() => this.#queues.nextDueAt(platforms));
  }

  list({ states, limit }: { states: readonly InboxState[]; limit: number }): Promise<InboxMessage[]> {
    return read(() => this.#list.all({ states: JSON.stringify(states), limit }).map(messageOf));
  }

  find(id: string): Promise<InboxMessage | null> {
    return read(() => {
      const row = this.#find.get(id);
      return row ? messageOf(row) : null;
    });
  }

  search(id: string): Promise<InboxMessage[]> {
    const colon = id.indexOf(':');
    const [channel, rest] = colon < 0 ? ['', ''] : [id.slice(0, colon), id.slice(colon + 1)];
    return read(() => this.#search.all({ id, channel, rest }).map(messageOf));
  }

  retry(id: string): Promise<boolean> {
    return this.#commit.write(() => {
      const change = { id, now: this.#bounds.clock.now() };
      const queue = this.#reopen.get(change) ?? this.#hurry.get(change);
      if (queue === undefined) return false;
      this.#queues.refreshUnlessClaimed(queue);
      return true;
    });
  }

  discard(id: string): Promise<boolean> {
    return this.#commit.write(() => {
      const gone = this.#delete.get(id);
      if (!gone) return false;
      if (gone.ended_at === null) this.#queues.remove(gone.queue, gone.seq);
      return true;
    });
  }

  /** Within a commit: deletes at most `bite` rows that are too old or too many. @returns how many. */
  deleteExpired(bite: number): number {
    const now = this.#bounds.clock.now();
    let deleted = this.#deleteEnded.run('done', now - KNOWN_MS, bite).changes;
    deleted += this.#deleteEnded.run('failed', now - FAILED_MS, bite - deleted).changes;
    deleted += this.#deleteFailed.run(bite - deleted, this.#bounds.failedMax).changes;
    return deleted + this.#forget.run(now, bite - deleted).changes;
  }

  /** Within a commit: what `enqueue` does. */
  #keepAll(messages: readonly NewInboxMessage[], now: number): ('kept' | 'repeated')[] | null {
    const fresh = this.#withoutRepeats(messages, now);
    if (fresh.size > 0 && (this.#open.get() ?? 0) + fresh.size > this.#bounds.max) return null;
    for (const message of fresh) this.#keep(message, now);
    return messages.map((message) => (fresh.has(message) ? 'kept' : 'repeated'));
  }

  #withoutRepeats(messages: readonly NewInboxMessage[], now: number): Set<NewInboxMessage> {
    const seen = new Set<string>();
    return new Set(
      messages.filter(({ platform, message_id }) => {
        if (message_id === null) return true;
        const identity = JSON.stringify([platform, message_id]);
        if (seen.has(identity) || this.#isKnown.get(platform, message_id, now) !== undefined) return false;
        seen.add(identity);
        return true;
      }),
    );
  }

  #keep(message: NewInboxMessage, now: number): void {
    const state = message.reply === null ? 'waiting' : 'replied';
    const seq = this.#insert.get({
      ...message,
      message: message.message && JSON.stringify(message.message),
      reply_to: JSON.stringify(message.reply_to),
      state,
      apology: null,
      failure: null,
      attempts: 0,
      sends: 0,
      received_at: now,
      next_attempt_at: now,
      ended_at: null,
    });
    if (seq === undefined) throw new Error('an inserted message has no place in the inbox');
    this.#queues.append(message.queue, {
      platform: message.platform,
      sending: state === 'replied',
      now,
      seq,
    });
    const { platform, message_id, id } = message;
    if (message_id !== null) this.#know.run({ platform, message_id, id, expires_at: now + KNOWN_MS, now });
  }

  #ended(claim: InboxClaim, state: 'done' | 'failed', failure: string | null): Promise<boolean> {
    return this.#endClaim(claim, ({ id }) =>
      this.#end.run({ id, state, failure, now: this.#bounds.clock.now() }),
    );
  }

  #endClaim(claim: InboxClaim, change: (message: InboxMessage) => void): Promise<boolean> {
    return this.#commit.write(() => {
      const { message, token } = claim;
      if (!this.#queues.isHeld(message.queue, token)) return false;
      change(message);
      this.#queues.refresh(message.queue);
      return true;
    });
  }
}

function messageOf({ message, reply_to, ...row }: InboxRow): InboxMessage {
  return {
    ...row,
    message: message === null ? null : (JSON.parse(message) as InboxMessage['message']),
    reply_to: JSON.parse(reply_to) as InboxMessage['reply_to'],
  };
}
