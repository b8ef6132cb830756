import type { IncomingMessage, JsonObject } from '../../channel/index.ts';
import type { GuardedMessage, GuardLimits, GuardVerdict } from '../guard/verdict.ts';
import type { Claim } from './claims.ts';
import type { Outage } from './outages.ts';

/**
 * Messages that are answered later, from the moment they are accepted until they are done or have failed
 * (agentd-message(7), "The inbox"). Messages of one queue are worked on one at a time, in the order in which they were
 * kept: a queue is claimed by one worker, for its first message, and a message that waits for its next attempt holds up
 * those behind it. Writes under a claim are refused (false) once the claim is gone.
 */
export interface InboxStore {
  /**
   * Stores messages in this order; atomic over all of them, and durable when it resolves. A `message_id` of a platform
   * that was stored within the last 7 days is not stored again: `repeated`. Null if so many messages wait that none of
   * these is taken.
   */
  enqueue(messages: readonly NewInboxMessage[]): Promise<('kept' | 'repeated')[] | null>;
  /**
   * The same for messages that the loop guard screens as they arrive. In one atomic step for each message, in this order:
   * the guard judges it (`judge`), and what follows from the verdict is stored (`afterVerdict`): the message, a notice,
   * or a trace. When it resolves, all of it is durable. A crash before leaves none of it, or verdicts alone, which a
   * repeat of the delivery gets again. If so many messages wait that none is taken, the verdicts and their traces are
   * stored all the same.
   */
  screen(arrivals: readonly Arrival[], limits: GuardLimits): Promise<Screened>;
  /**
   * Replaces the text of a message that no attempt has begun for yet, an edit by its sender. False if
   * there is no such message; nothing is changed then.
   */
  edit(platform: string, message_id: string, text: string): Promise<boolean>;
  /**
   * Claims up to `limit` queues of these platforms whose first message is due, longest due first, and begins
   * an attempt with it: `waiting` becomes `running` and counts in `attempts`; `replied` stays so and counts
   * in `sends`. Each claim is one caller's until it is settled, or lost when its process dies or does not
   * renew it for `CLAIM_MS`.
   * @param which `fresh`: messages that no process died on. `interrupted`: the others, those first that the
   * fewest processes died on.
   */
  claim(
    kind: AttemptKind,
    platforms: readonly string[],
    limit: number,
    which?: 'fresh' | 'interrupted',
  ): Promise<InboxClaim[]>;
  /**
   * Everything that a worker needs before its next attempts: the outages, and claims of fresh messages as `claim` gives
   * them, of each kind up to its room. Texts of a platform with an outage are not claimed, and nothing is while a message
   * waits that a process died on (`holdsInterrupted`), those texts left out.
   */
  take(platforms: readonly string[], room: Readonly<Record<AttemptKind, number>>): Promise<Taken>;
  /** Extends a claim to `CLAIM_MS` from now. False if it is lost. */
  renew(claim: InboxClaim): Promise<boolean>;
  /** Ends the claim and records what the attempt came to (see `settled`). */
  settle(claim: InboxClaim, outcome: AttemptOutcome): Promise<boolean>;
  /** How many parts of a message's text the platform has confirmed; 0 for an unknown id. */
  partsSent(id: string): Promise<number>;
  /**
   * Records that the platform has confirmed that many parts of a message's text; never fewer than before. This
   * is a fact and not a decision, so it needs no claim. An unknown id changes nothing.
   */
  notePartsSent(id: string, parts: number): Promise<void>;
  /** Fails the texts of a platform that were stored at this time or before and that nobody is sending. @returns how many. */
  expire(platform: string, stored_until: number, failure: string): Promise<number>;
  /** Ends the claims of processes that died; their messages are due again, as `interrupted`. @returns how many. */
  reap(): Promise<number>;
  /**
   * When the first unclaimed message of these platforms is due; null if there is none. After the clock was set back
   * a message is due once its wait has passed by the clock as it is now, at the latest.
   */
  nextDueAt(kind: AttemptKind, platforms: readonly string[]): Promise<number | null>;
  /** Does an unclaimed message of these platforms wait that a process died on? */
  holdsInterrupted(kind: AttemptKind, platforms: readonly string[]): Promise<boolean>;

  /** Newest first: those in these states. */
  list(filter: { states: readonly InboxState[]; limit: number }): Promise<InboxMessage[]>;
  /** How many messages of each platform are in each state, those that are done left out. */
  counts(): Promise<InboxCount[]>;
  /** By `id`; null if there is none (any more). */
  find(id: string): Promise<InboxMessage | null>;
  /**
   * Newest first, at most 100: those whose `id` or `message_id` it is, with or without the channel's name and a
   * colon before the latter; of those that are not done also by their request and session.
   */
  search(id: string): Promise<InboxMessage[]>;
  /**
   * Makes a failed message begin anew with all its budgets, with its reply if it has one, in its old place in
   * its queue; one that waits for its next attempt is due now. False for any other.
   */
  retry(id: string): Promise<boolean>;
  /** Makes failed messages begin anew, as `retry` does; atomic over all of them. @returns their ids, oldest first. */
  retryFailed(filter: { platform?: string; failed_since?: number }): Promise<string[]>;
  /** Deletes a message in any state; its `message_id` stays known. False if there is none. */
  discard(id: string): Promise<boolean>;
}

/** A run of the agent, or the sending of a stored text. */
export type AttemptKind = 'run' | 'send';

/** What an attempt came to. */
export type AttemptOutcome =
  /** It was not carried out, for example because the daemon stops: as if it had not begun. */
  | { kind: 'given_back' }
  /** It failed, and the next one begins after `wait_ms`. `counts`: a run that counts against the allowed number. */
  | { kind: 'again'; wait_ms: number; failure: string; counts: boolean }
  /** The platform has taken the text. The message is `done`; after a notice it has `failed`. */
  | { kind: 'sent' }
  | FinalFailure;

/** `begun: false`: this attempt was not carried out, because of those before it, and is not counted. */
export type FinalFailure =
  /** The run failed for good: the notice is sent to the person, then the message has failed. If a reply is stored, that is sent. */
  | { kind: 'notify'; notice: string; failure: string; begun?: false }
  /** The message has failed for good. */
  | { kind: 'failed'; failure: string; begun?: false };

/**
 * `waiting` for an attempt, `running` (one has begun), `replied` (a text is stored and not sent yet), `done`,
 * `failed`.
 */
export type InboxState = 'waiting' | 'running' | 'replied' | 'done' | 'failed';

export interface InboxCount {
  platform: string;
  state: Exclude<InboxState, 'done'>;
  messages: number;
  /** When the first of them was received. */
  oldest_at: number;
}

export interface NewInboxMessage {
  /** Also the `turn_id` of its turn. */
  id: string;
  platform: string;
  /** Messages of one queue keep their order; the session id, but for texts that are said without a run. */
  queue: string;
  /** Null: a text that is said without an agent run. */
  session_id: string | null;
  message_id: string | null;
  /** Never with a token in it. Null if there is no run. */
  message: QueuedMessage | null;
  reply_to: JsonObject;
  /** The text to send; null: the agent's reply, later. */
  reply: string | null;
  sent_at: number;
  request_id: string;
}

/** A message with the parent of its span (`Observer.parentOf`), if the request had one. */
export type QueuedMessage = IncomingMessage & { parent_span?: string };

/** The question at the end of a reply, as its channel needs it. */
export interface StoredQuestion {
  /** Id of the action. */
  id: string;
  /** Where the question begins in the reply. */
  begins_at: number;
  /** Labels of the buttons. */
  confirm: string;
  decline: string;
}

/** A message that a platform delivered, as it is screened. */
export interface Arrival {
  message: NewInboxMessage & { session_id: string; message: QueuedMessage };
  guarded: GuardedMessage;
  /** How its sender is told that the session has used up its messages; `afterVerdict` fills in `{max}` and `{time}`. */
  notice: NewInboxMessage;
}

/** By the index of the arrivals. */
export interface Screened {
  verdicts: GuardVerdict[];
  /**
   * What became of the message or notice that followed from each verdict; null if nothing followed. Null as a whole if
   * so many messages wait that none was taken.
   */
  outcomes: ('kept' | 'repeated' | null)[] | null;
}

export interface InboxMessage extends NewInboxMessage {
  state: InboxState;
  received_at: number;
  /** Runs that were begun. */
  attempts: number;
  /** Those of them that failed for a passing reason: they do not count against the allowed number. */
  passing: number;
  /** When the first run began; null before. */
  first_run_at: number | null;
  /** Attempts to send the text that is to be sent now. */
  sends: number;
  /** When the text that is to be sent (reply or notice) was stored; null before. */
  text_stored_at: number | null;
  /** Parts of that text that the platform has confirmed. */
  parts_sent: number;
  /** Attempts in a row during which the process died. */
  interrupted: number;
  next_attempt_at: number;
  /** The question at the end of the reply; null: it asks for nothing. */
  question: StoredQuestion | null;
  /** Sent to the person after the run failed for good. Never set beside an agent's reply. */
  notice: string | null;
  /** A code, and words if there are some: why the last run failed or, once a reply is stored, the last attempt to send it. */
  failure: string | null;
  /** Why the notice was not taken. */
  notice_failure: string | null;
  /** When it was done or failed; null before. */
  ended_at: number | null;
}

/** What a worker is given by `take`. */
export interface Taken {
  outages: Outage[];
  /** A message waits that a process died on: there are no claims then. */
  interrupted: boolean;
  claims: InboxClaim[];
}

/** The right to make one attempt at a message. */
export interface InboxClaim extends Claim {
  /** As it was claimed, this attempt counted. */
  readonly message: InboxMessage;
}
