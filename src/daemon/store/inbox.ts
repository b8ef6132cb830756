import type { IncomingMessage, JsonObject } from '../../channel/index.ts';
import type { GuardedMessage, GuardLimits, GuardVerdict } from '../guard/verdict.ts';
import type { TraceRecord } from '../message/trace.ts';

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
