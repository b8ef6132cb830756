import type { IncomingMessage, JsonObject, StreamEvent } from '../../channel/index.ts';
import type { SessionTurns } from '../guard/layers.ts';
import type { Circuit, GuardedMessage, GuardLimits, GuardUser, GuardVerdict } from '../guard/verdict.ts';
import type { PersonKey } from '../identity/identity.ts';
import type { TraceLine, TraceRecord } from '../message/trace.ts';
import type { JwtContext, Session, StoredTurn } from '../session/session.ts';

/**
 * The store: one port per concern, in the domain's words. A backend implements all of them, and passes
 * test/contract. All times are the store's clock, ms since the epoch. Every method rejects with
 * `StoreUnavailable` when the store cannot be read or written; what was resolved survives `kill -9`.
 * Nothing may be cached above: administrators write beside a running daemon.
 */
export interface Store {
  /** Which backend, for people: `sqlite /var/lib/agentd/agentd.db`. */
  readonly description: string;
  readonly sessions: SessionStore;
  readonly traces: TraceStore;
  readonly leases: LeaseStore;
  readonly limits: LimitStore;
  readonly guard: GuardStore;
  readonly idempotency: IdempotencyStore;
  readonly inbox: InboxStore;
  readonly links: LinkStore;
  readonly streams: StreamStore;
  /** Resolves where the store can be written. */
  check(): Promise<void>;
  /** Deletes what has expired, in bounded bites; returns how many rows. Called now and then by the daemon. */
  sweep(): Promise<number>;
  close(): Promise<void>;
}

export interface SessionStore {
  /** The session, or null where there is none or its time has passed. */
  find(session_id: string): Promise<Session | null>;
  /**
   * Writes a session as it is given, new or changed: whose it is, what is bound. Atomic. Called under the
   * session's lease. A session of that id whose time has passed is deleted first, with its turns.
   * False where `expect` is `changed` and the session has ended meanwhile: nothing is written.
   */
  save(session: Session, expect: 'new' | 'changed'): Promise<boolean>;
  /**
   * Keeps a turn and its trace, counts it, and slides the session's time to `ttl_ms` from now; atomic.
   * False where the session ended meanwhile: then only the trace is kept.
   */
  keepTurn(session_id: string, turn: StoredTurn, trace: TraceRecord, ttl_ms: number): Promise<boolean>;
  /** The last answered turns, oldest first, that `reader` may see: those of nobody, and the reader's own. */
  history(session_id: string, reader: PersonKey | null, limit: number): Promise<StoredTurn[]>;
  /** All turns of a session, oldest first. */
  turns(session_id: string): Promise<StoredTurn[]>;
  /** Newest activity first. */
  list(filter: { platform?: string; user_id?: string; limit: number }): Promise<Session[]>;
  /** Deletes a session and its turns; the traces stay. False where there was none. */
  end(session_id: string): Promise<boolean>;
}

export interface TraceStore {
  /** Keeps the trace of a request that never had a turn (refused, or failed before its session). */
  keep(trace: TraceRecord): Promise<void>;
  /** Traces whose turn, request, session or message id it is, oldest first; at most 200, the newest. */
  find(id: string): Promise<TraceRecord[]>;
}

/** One holder at a time per key, in order of asking. Keys of this daemon's process die with it. */
export interface LeaseStore {
  /** Resolves when it is this caller's turn; rejects with the signal's reason when aborted before. */
  acquire(key: string, signal: AbortSignal): Promise<Lease>;
}

export interface Lease {
  /** Aborts when the lease was lost (time-out, another took over); writes after that must not happen. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** The one sliding-window primitive: exact, atomic; a refused hit does not count. */
export interface LimitStore {
  hit(key: string, limit: { max: number; window_ms: number }): Promise<WindowState>;
}

export interface WindowState {
  allowed: boolean;
  /** Hits that are left in the window. */
  remaining: number;
  /** ms until one more hit has room (0 where it has); until all are free again. */
  retry_after_ms: number;
  reset_ms: number;
}

/** The loop guard's counters (decisions §7); the rules stand in src/daemon/guard. */
export interface GuardStore {
  /**
   * Checks a message and counts it, in all layers at once: exact, however many ask at once and from wherever.
   * A message with an id that was checked within the last 7 days gets its first verdict again, and counts for
   * nothing. Once resolved, the count survives `kill -9`, and so does the verdict.
   */
  check(message: GuardedMessage, limits: GuardLimits): Promise<GuardVerdict>;
  /** Takes back a turn of a session whose message was let through, and never came to its turn. */
  giveBackTurn(session_id: string): Promise<void>;
  /** Circuits that are open now, and sessions that messages were blocked in; at most 1000 each, newest first. */
  list(): Promise<GuardList>;
  /**
   * Closes the circuits of a user of a channel and empties their windows: of everyone with that `user_id`, and
   * of a person with that `sub`. False where the guard has not met them lately.
   */
  resetUser(platform: string, user: string): Promise<boolean>;
  /** Counts a session's turns from 0 again; false where none are counted. The count also ends with its session. */
  resetSession(session_id: string): Promise<boolean>;
  /** Closes all circuits, empties all windows, counts all turns from 0; verdicts that were given stay. */
  resetAll(): Promise<void>;
}

export interface GuardList {
  circuits: (Omit<GuardUser, 'key'> & Circuit)[];
  sessions: (SessionTurns & { session_id: string })[];
}

export interface IdempotencyStore {
  /**
   * Claims a key for a request. `new`: it is the caller's to run. A claim whose owner died counts as none.
   * @param fingerprint of the request's body; a known key with another one is `other_body`.
   */
  claim(key: string, fingerprint: string): Promise<Claim>;
  /** What `claim` would find now; claims nothing. */
  look(key: string, fingerprint: string): Promise<Claim>;
  /** Keeps the answer for `ttl_ms`. */
  finish(key: string, answer: StoredAnswer, ttl_ms: number): Promise<void>;
  /** Forgets an unfinished claim, so that the request can be repeated. */
  release(key: string): Promise<void>;
}

export type Claim =
  | { outcome: 'new' }
  | { outcome: 'running' }
  | { outcome: 'other_body' }
  | { outcome: 'done'; answer: StoredAnswer };

export interface StoredAnswer {
  session_id: string;
  response: string;
}

/**
 * Messages that are answered later, from the moment they are accepted until they are done or have failed
 * (decisions §6). Messages of one queue are worked on one at a time, in the order in which they were kept:
 * a queue is claimed by one worker, for its first message, and a message that waits for its next attempt
 * holds up those behind it. What is written under a claim is refused (false) once the claim is gone.
 */
export interface InboxStore {
  /**
   * Keeps messages in this order; atomic over all of them. A `message_id` of a platform that was kept within
   * the last 7 days is not kept again: `repeated`. Null where so many wait that none of these is taken.
   */
  enqueue(messages: readonly NewInboxMessage[]): Promise<('kept' | 'repeated')[] | null>;
  /**
   * Has the guard check messages as they arrive, in this order, and keeps what follows from its verdicts: what
   * `GuardStore.check`, `enqueue` and `TraceStore.keep` do, in one call. When it resolves, all of it is
   * durable. A crash before leaves none of it, or verdicts alone, which a repeat of the delivery gets again.
   * Where so many wait that none is taken, the verdicts stand, with their traces.
   * @param follow says what follows from the verdict of the message at this place; asked in order, perhaps
   * more than once, so it changes nothing.
   */
  admit(
    messages: readonly GuardedMessage[],
    limits: GuardLimits,
    follow: (verdict: GuardVerdict, place: number) => Consequence,
  ): Promise<Admission>;
  /**
   * Replaces the text of a message that no attempt has begun for yet, an edit by its sender. False where
   * there is none such; nothing is changed then.
   */
  edit(platform: string, message_id: string, text: string): Promise<boolean>;
  /**
   * Claims up to `limit` queues of these platforms whose first message is due, longest due first, and begins
   * an attempt with it: `waiting` becomes `running` and counts in `attempts`; `replied` stays so and counts
   * in `sends`. Each claim is one caller's until it is ended, or lost when its process dies or does not
   * renew it for `INBOX_LEASE_MS`.
   */
  claim(kind: 'run' | 'send', platforms: readonly string[], limit: number): Promise<InboxClaim[]>;
  /** Keeps a claim for another `INBOX_LEASE_MS`. */
  renew(claim: InboxClaim): Promise<boolean>;
  /** Keeps the reply: the message is `replied`, and its first attempt to send has begun. The claim stays. */
  keepReply(claim: InboxClaim, reply: string): Promise<boolean>;
  /** Ends the claim: another attempt, at the earliest at `at`. A message with a text to send is sent again. */
  retryLater(claim: InboxClaim, at: number, failure: string): Promise<boolean>;
  /** Ends the claim: no further run; `apology` is to be sent instead of a reply, then the message has failed. */
  apologise(claim: InboxClaim, apology: string, failure: string): Promise<boolean>;
  /** Ends the claim: what was to be sent is sent. The message is `done`; after an apology it has `failed`. */
  finish(claim: InboxClaim): Promise<boolean>;
  /** Ends the claim: the message has `failed` for good. */
  fail(claim: InboxClaim, failure: string): Promise<boolean>;
  /** Ends the claims of processes that died; their messages are due again. @returns how many. */
  reap(): Promise<number>;
  /** When a message of these platforms that nobody has claimed is due, the first of them; null: none waits. */
  nextDueAt(platforms: readonly string[]): Promise<number | null>;

  /** Newest first: those in these states. */
  list(filter: { states: readonly InboxState[]; limit: number }): Promise<InboxMessage[]>;
  /** By `id`; null where there is none (any more). */
  find(id: string): Promise<InboxMessage | null>;
  /**
   * Newest first, at most 100: those whose `id` or `message_id` it is, with or without the channel's name and a
   * colon before the latter; of those that are not done also by their request and session.
   */
  search(id: string): Promise<InboxMessage[]>;
  /**
   * Has a failed message begin anew, with its reply where it had one, in its old place in its queue; one
   * that waits for its next attempt is due now. False for any other.
   */
  retry(id: string): Promise<boolean>;
  /** Deletes a message in whatever state; its `message_id` stays known. False where there is none. */
  discard(id: string): Promise<boolean>;
}

/** How long a claim outlives its last renewal where its process may have died unnoticed, ms. */
export const INBOX_LEASE_MS = 30_000;

/**
 * `waiting` for an attempt, `running` (one has begun), `replied` (a text is stored and not sent yet), `done`,
 * `failed`.
 */
export type InboxState = 'waiting' | 'running' | 'replied' | 'done' | 'failed';

export interface NewInboxMessage {
  /** Also the `turn_id` of its turn. */
  id: string;
  platform: string;
  /** Messages of one queue keep their order; the session id, but for texts that are said without a run. */
  queue: string;
  /** Null: a text that is said without an agent run. */
  session_id: string | null;
  message_id: string | null;
  /** Never with a token in it. Null where there is no run. */
  message: IncomingMessage | null;
  reply_to: JsonObject;
  /** The text to send; null: the agent's reply, later. */
  reply: string | null;
  sent_at: number;
  request_id: string;
}

/** What is kept because of a verdict. */
export interface Consequence {
  /** The message itself, or what is said to its sender. */
  keep: NewInboxMessage | null;
  trace: TraceRecord | null;
}

/** By the places of the messages. */
export interface Admission {
  verdicts: GuardVerdict[];
  /** What became of `keep`, null where there was none; null for all where so many wait that none was taken. */
  outcomes: ('kept' | 'repeated' | null)[] | null;
}

export interface InboxMessage extends NewInboxMessage {
  state: InboxState;
  received_at: number;
  /** Runs that were begun. */
  attempts: number;
  /** Attempts to send what is to be sent now. */
  sends: number;
  next_attempt_at: number;
  /** Sent instead of a reply after the last failure. */
  apology: string | null;
  /** A code, and words where there are some: of the last failed attempt. */
  failure: string | null;
  /** When it was done or failed; null before. */
  ended_at: number | null;
}

export interface InboxClaim {
  /** The owner's token, by which its writes are known. */
  readonly token: string;
  /** As it was claimed, this attempt counted. */
  readonly message: InboxMessage;
}

/**
 * Link records (service.md, "Token lookup records"): which token stands for a channel's user. Keys are the
 * documented ones, `<platform>:jwt:<user_id>`; the value is the token, sealed by the layer above. What else is
 * known of a link ends with it, and has keys of its own where the value must stay alone.
 */
export interface LinkStore {
  /** The link, or null where there is none or its time has passed. */
  get(key: string): Promise<Link | null>;
  /** The link that this alias was bound to last, where that one still stands and has it. */
  findByAlias(alias: string): Promise<Link | null>;
  /**
   * Writes a link, if what stands under the key is still `expected` (a value as `get` gave it; null: nothing);
   * atomic. False otherwise: nothing is written, look again. Its alias stays where it was bound for the same
   * person, else it goes.
   */
  put(link: NewLink, expected: string | null): Promise<boolean>;
  /**
   * Binds an alias to the link: it is found by it from now on, and no other link is, though that one keeps it.
   * Atomic. False where the link's token is not `token` any more, or it has another alias of the same person:
   * nothing is written, look again.
   */
  bindAlias(key: string, token: string, alias: LinkAlias): Promise<boolean>;
  /** Deletes a link, where `expected` is given only if it still has this value. False where there was none. */
  remove(key: string, expected?: string): Promise<boolean>;
  /** In the order of their keys. */
  list(filter: { platform?: string; limit: number }): Promise<Link[]>;
  /** Notes that the person was told that this token has expired; a new link has not been told of. */
  noteLapseTold(key: string, token: string): Promise<void>;
}

export interface NewLink {
  key: string;
  token: string;
  /** Of the token. */
  person: PersonKey;
  ttl_ms: number;
}

export interface Link {
  key: string;
  /** As it was put. */
  token: string;
  /** When the link ends, whatever its token says. */
  expires_at: number;
  lapse_told: boolean;
  alias: LinkAlias | null;
}

/** Another id of a link's user, which the platform may send alone (`IncomingMessage.alias_id`). */
export interface LinkAlias {
  /** With the channel's name before it, so that no two channels' meet. */
  alias: string;
  /** Whose link it was then. A value may be written by others than `put`: another person's has no alias. */
  person: PersonKey;
}

/**
 * Messages that are answered on an event stream, and the events of their answers (decisions §5). A stream is
 * `waiting` until it is opened for the first time, `running` while its run goes on, then `ended`; what has
 * waited, or been over, for its `ttl_ms` is treated as none, whether deleted yet or not.
 */
export interface StreamStore {
  /**
   * Keeps a new stream, waiting. Atomic: where a stream that there is has the same `idempotency_key`, that one
   * is the result, and nothing is written.
   */
  create(stream: NewStream): Promise<StreamRecord>;
  /** Null where there is none, or its time has passed. */
  find(stream_id: string): Promise<StreamRecord | null>;
  /** The stream that holds the key; one that ended in `error` holds none, so that its message can be repeated. */
  findByKey(idempotency_key: string): Promise<StreamRecord | null>;
  /**
   * Begins the run: `waiting` becomes `running`, `first` is its first event, the token is deleted, and the
   * stream is `owner`'s where it is not null. Atomic: true for one caller, whose run it is until it has ended
   * or been released, or its process dies; false for all others.
   */
  claim(stream_id: string, first: StreamEvent, owner: PersonKey | null): Promise<boolean>;
  /**
   * Adds events to a stream that this process runs; their ids go on from the last one's, else it rejects.
   * Where the last one is `stream_complete` or `error` the stream has ended.
   */
  append(stream_id: string, events: readonly StreamEvent[]): Promise<void>;
  /** The events after `after`, in order. */
  read(stream_id: string, after: number): Promise<StreamEvent[]>;
  /** Calls back after events were added, and when somebody asked to stop; perhaps once too often. */
  watch(stream_id: string, listener: (change: 'events' | 'stop') => void): () => void;
  /** Tells the process that runs it to stop. */
  askToStop(stream_id: string): Promise<void>;
  /** Gives up a run, which may not have been able to say its end; no effect on one that has ended. */
  release(stream_id: string): Promise<void>;
  /** Ends each stream whose run died or was given up, with this event. @returns how many. */
  reap(last: Omit<StreamEvent, 'id'>): Promise<number>;
}

export interface NewStream {
  stream_id: string;
  idempotency_key: string | null;
  /** Of the message, as in `IdempotencyStore`. */
  fingerprint: string;
  /** The person of the token that came with the message; null: nobody. */
  owner: PersonKey | null;
  /** The token that came with the message, sealed by the layer above; null: none. */
  token: string | null;
  start: StreamStart;
  /** How long it waits to be opened, and is found after its end. */
  ttl_ms: number;
}

/** What arrived with the message of a stream, and was found out then. */
export interface StreamStart {
  request_id: string;
  session_id: string;
  session_is_generated: boolean;
  /** Without its token: there, null says "signed out". */
  message: IncomingMessage;
  address: string | null;
  /** A token came with it. */
  token_given: boolean;
  /** The trace up to here. */
  trace: TraceLine[];
}

export interface StreamRecord extends NewStream {
  state: 'waiting' | 'running' | 'ended';
  /** Id of the last event; 0: there is none yet. */
  last_event: number;
}

export type { JwtContext, Session, StoredTurn, TraceRecord };
