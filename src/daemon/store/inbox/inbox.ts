import type { IncomingMessage, JsonObject, ReplyConfirmation } from '../../../channel/index.ts';
import type { GuardedMessage, GuardLimits, GuardVerdict } from '../../guard/verdict.ts';
import type { PersonKey } from '../../identity/identity.ts';
import type { Claim } from '../claims/claims.ts';
import type { Outage } from './outages.ts';

/**
 * Messages that are answered later, from the moment they are accepted until they are done or have failed
 * (agentd-message(7), "The inbox"). Messages of one queue are processed one at a time, in the order in which they were
 * stored. A worker claims the queue with its first message. If that message waits for its next attempt, the messages
 * behind it wait, too. Writes under a claim are refused (false) once the claim is gone.
 */
export interface InboxStore {
  /**
   * Stores messages in the given order; atomic over all of them, and durable when it resolves. `repeated`: the
   * platform's `message_id` was stored within the last 7 days, so the message is not stored again; nor is a text about a
   * link code that was erased. Null if the inbox is full: no message is stored.
   */
  enqueue(messages: readonly NewInboxMessage[]): Promise<('kept' | 'repeated')[] | null>;
  /**
   * Stores messages like `enqueue`, but the loop guard screens them as they arrive. For each message, in the given
   * order and in one atomic step, the guard judges it (`judge`), and the consequence of the verdict is stored
   * (`afterVerdict`): the message, a notice, or a trace. When it resolves, everything is durable. If the process dies
   * before that, nothing is stored, or only verdicts; a repeated delivery gets the same verdicts again. If the inbox is
   * full, the verdicts and their traces are stored anyway.
   */
  screen(arrivals: readonly ScreenedMessage[], limits: GuardLimits): Promise<Screened>;
  /**
   * Replaces the text of a message, and marks it as edited, if no attempt at it has begun yet. The user and the session
   * must be those of the message; atomic. False if there is no such message.
   */
  edit(edit: InboxEdit): Promise<boolean>;
  /**
   * Claims up to `limit` queues in which the first message is for one of these platforms and is due, beginning with the
   * queues that have been due the longest. Also begins an attempt at each of these messages: `waiting` becomes
   * `running` and is counted in `attempts`; `replied` stays `replied` and is counted in `sends`. Each claim belongs to
   * one caller until it is settled, or until it is lost because the caller's process died or did not renew it for
   * `CLAIM_MS`.
   * @param which `interrupted`: messages that were interrupted by the death of a process, beginning with those with the
   * fewest interruptions. `fresh`: all others.
   */
  claim(
    kind: AttemptKind,
    platforms: readonly string[],
    limit: number,
    which?: 'fresh' | 'interrupted',
  ): Promise<InboxClaim[]>;
  /**
   * Returns everything that a worker needs before its next attempts: the outages, and claims of fresh messages as from
   * `claim`. `room` limits the claims of each kind. Texts for a platform with an outage are not claimed. While an
   * interrupted message is waiting, nothing is claimed, or only this message if the worker is idle: so a message that
   * kills the process affects no other message.
   */
  take(platforms: readonly string[], room: Room): Promise<Taken>;
  /** Extends a claim to `CLAIM_MS` from now. False if it is lost. */
  renew(claim: InboxClaim): Promise<boolean>;
  /**
   * Fixes the turn of a claimed message that `collects`, unless an earlier attempt has fixed it: the message, and the
   * messages of its sender that directly follow it and collect, too, up to `TURN_MESSAGES_MAX` messages and `TEXT_MAX`
   * characters. Durable when it resolves, so that each attempt at the turn has exactly these messages. From then on, the
   * turn is one unit: its further messages share the state of its first, and none of them can be edited.
   * @returns the further messages, in order. Null if the claim is lost.
   */
  collect(claim: InboxClaim): Promise<InboxMessage[] | null>;
  /**
   * Ends the collecting of the messages of this user that wait now: the runs of their sessions begin at once, and
   * messages that arrive later are other turns.
   */
  endCollecting(platform: string, user_id: string): Promise<void>;
  /** Ends the claim and records the outcome of the attempt (see `settled`). */
  settle(claim: InboxClaim, outcome: AttemptOutcome): Promise<boolean>;
  /**
   * Completes a reply that tells its reader to sign in. If the question waits, its second run moves to the private chat,
   * or ends if there is none. Durable when it resolves.
   * @returns the message. Null if the claim is lost.
   */
  completeSignIn(claim: InboxClaim, hinted: SignInHinted): Promise<InboxMessage | null>;
  /** How many parts of a message's text the platform has confirmed; 0 for an unknown id. */
  partsSent(id: string): Promise<number>;
  /**
   * Records how many parts of a message's text the platform has confirmed; the number never decreases. This number is a
   * fact, so it needs no claim. No effect for an unknown id.
   */
  notePartsSent(id: string, parts: number): Promise<void>;
  /**
   * Marks texts for a platform as failed if they were stored at this time or earlier and are not being sent now.
   * @returns the number of these texts.
   */
  expire(platform: string, stored_until: number, failure: string): Promise<number>;
  /**
   * Ends the claims of processes that died. Their messages are due again, as `interrupted`. @returns the number of
   * claims.
   */
  reap(): Promise<number>;
  /**
   * When the first unclaimed message of these platforms is due; null if there is none. If the clock was set back, no
   * message waits longer than the time for which it was postponed.
   */
  nextDueAt(kind: AttemptKind, platforms: readonly string[]): Promise<number | null>;

  /** The messages in these states, newest first. */
  list(filter: { states: readonly InboxState[]; limit: number }): Promise<InboxMessage[]>;
  /** How many messages of each platform are in each state. Messages that are done are not counted. */
  counts(): Promise<InboxCount[]>;
  /** Finds a message by its `id`; null if it does not exist or was deleted. */
  find(id: string): Promise<InboxMessage | null>;
  /**
   * The messages with this `id` or `message_id`, newest first, at most 100. A `message_id` may have the channel's name
   * and a colon before it. Messages that are not done are also found by the ids of their request and session.
   */
  search(id: string): Promise<InboxMessage[]>;
  /**
   * Restarts a failed message at its old position in its queue, as if no attempt at it had been made. If it has a
   * reply, sending continues with the first part that the platform has not confirmed. A message that waits for its next
   * attempt becomes due now. False for any other message. If the message is part of a turn, this restarts the turn.
   */
  retry(id: string): Promise<boolean>;
  /** Restarts failed messages like `retry`; atomic over all of them. @returns their ids, oldest first. */
  retryFailed(filter: { platform?: string; failed_since?: number }): Promise<string[]>;
  /**
   * Deletes a message in any state, with the other messages of its turn; its `message_id` stays known. False if there is
   * none.
   */
  discard(id: string): Promise<boolean>;
}

/** A run of the agent, or the sending of a stored text. */
export type AttemptKind = 'run' | 'send';

/** The outcome of an attempt. */
export type AttemptOutcome =
  /** The attempt was not carried out, for example because the daemon is stopping. It counts as if it had not begun. */
  | { kind: 'given_back' }
  /**
   * The attempt failed, and the next one begins after `wait_ms`. `counts`: whether the failed run counts against the
   * allowed number of runs.
   */
  | { kind: 'again'; wait_ms: number; failure: string; counts: boolean }
  /**
   * The platform has accepted the text. The message is `done` or, if the text was a notice, `failed`. `sent_ids`: the
   * platform's ids of an answer (`FeedbackStore.findSent`), at most 50. `card_id`: the platform's id of the message with
   * the question, if its buttons can be taken away.
   */
  | { kind: 'sent'; sent_ids?: readonly string[]; card_id?: string }
  | FinalFailure;

/** `begun: false`: earlier attempts decided the outcome, so this attempt was not carried out and is not counted. */
export type FinalFailure =
  /**
   * The run failed for good. The notice is sent to the person, and then the message has failed. If a reply is stored,
   * the reply is sent instead of the notice.
   */
  | { kind: 'notify'; notice: string; failure: string; begun?: false }
  /** The message has failed for good. */
  | { kind: 'failed'; failure: string; begun?: false };

/**
 * `waiting` for an attempt, `running` (an attempt has begun), `replied` (a text is stored but not sent yet), `done`,
 * `failed`.
 */
export type InboxState = 'waiting' | 'running' | 'replied' | 'done' | 'failed';

export interface InboxCount {
  platform: string;
  state: Exclude<InboxState, 'done'>;
  messages: number;
  /** When the oldest of these messages was received. */
  oldest_at: number;
}

export interface NewInboxMessage {
  /** Also the `turn_id` of its turn. */
  id: string;
  platform: string;
  /**
   * Messages of one queue are processed in order. The queue is the session id, except for texts that are sent without a
   * run.
   */
  queue: string;
  /** Null for a text that is sent without an agent run. */
  session_id: string | null;
  message_id: string | null;
  /** The platform's user who wrote the message, or whom the text answers. Null: the channel did not say. */
  user_id: string | null;
  /** The message, which never contains a token. Null if there is no run. */
  message: QueuedMessage | null;
  reply_to: JsonObject;
  /** The text to send. Null: the agent's reply, which is stored later. */
  reply: string | null;
  /**
   * Whom the run acted for that wrote the reply, or whom a text without a run names. Absent if there is no reply, or if
   * it is about nobody.
   */
  written_for?: PersonKey;
  /** The id of the link code that the text is about. If the code has been erased, the text is not stored. */
  link_code?: string;
  /** The question at the end of `reply`. */
  question?: StoredQuestion | null;
  sent_at: number;
  request_id: string;
  /**
   * Its run waits for further messages, and takes up those of the same sender. Absent if it runs at once, and alone:
   * then it also ends the collecting of the messages before it.
   */
  collects?: Collects;
  /** Set if this is the second run of a message, after its sender has signed in. */
  rerun?: Rerun;
  /** A text that is stored when the reply of this message has been sent. */
  follow_up?: NewInboxMessage;
  /** Set for a text that takes the buttons away from a message with a question. */
  closes?: ClosesCard;
  /**
   * Set for a text to a user whose link a command has changed. Its words and its chat are found when it is sent, because
   * the command does not know them.
   */
  link_change?: 'ended' | 'replaced';
  /** A text that is deleted if it cannot be sent. It never enters the failed list. */
  is_hint?: true;
}

/** A message on a platform whose question was answered or has ended. */
interface ClosesCard {
  /** The inbox message whose reply ends with the question. */
  message_id: string;
  /** The platform's id of the message. */
  sent_id: string;
}

/** The second run of a message (agentd-identity(7), "The question waits"). */
export interface Rerun {
  /** The first run's turn. The loop guard and the journal of actions take both runs for one turn. */
  turn_id: string;
  /** The platform's id of the message. */
  message_id: string | null;
  /** When the message was received. */
  received_at: number;
  /** Whom the run acts for. It does not run for anybody else. */
  person?: PersonKey;
}

/** How long a run waits for further messages of its session (COLLECT_MS, COLLECT_MAX_MS). */
export interface Collects {
  /** After the newest message, ms. */
  wait_ms: number;
  /** After the first message, ms: the run begins then at the latest. */
  max_ms: number;
}

/**
 * How a reply in a group tells its reader to sign in. The daemon first writes to the reader privately, and then adds a
 * sentence to the reply that depends on whether the platform took that message.
 */
export interface SignInHint {
  /** Where the sentence belongs in the reply. */
  at: number;
  /** The private message. */
  private_text: string;
  /** The sentence if the platform took the private message. */
  written: string;
  /** The sentence if it did not. `{url}` in `write_at` is the address of a private chat with the bot. */
  write: string;
  write_at: string;
  /** For the group, when the question was answered privately. */
  answered: string;
}

/** What became of the private message of a `SignInHint`. */
export interface SignInHinted {
  /** The reply with its sentence. */
  reply: string;
  /** Where the question begins in it; null if there is none. */
  begins_at: number | null;
  /** How the second run differs from the message: it belongs to the private chat. Null: there can be no second run. */
  private_run:
    | (Pick<NewInboxMessage, 'queue' | 'reply_to' | 'follow_up'> & {
        session_id: string;
        channel_id: string;
      })
    | null;
}

/** Maximum number of messages in one turn. */
export const TURN_MESSAGES_MAX = 20;

/** A message with what the inbox knows about it. */
type QueuedMessage = IncomingMessage & {
  /** The parent of its span (`Observer.readParent`), if the request had one. */
  parent_span?: string;
  /** Whether its sender has changed its text since it was accepted. */
  edited?: true;
};

/** A new text for a message, from the user who edited it. */
export interface InboxEdit {
  platform: string;
  message_id: string;
  user_id: string;
  session_id: string;
  text: string;
}

/** The question at the end of a reply, as its channel needs it; or a link code, under its id. */
export interface StoredQuestion extends Omit<ReplyConfirmation, 'lead' | 'question'> {
  /** Where the question begins in the reply. */
  begins_at: number;
  /** How many characters at the end of the reply say how to answer in words. Absent: none. */
  how?: number;
}

/** A message that a platform delivered, as it is screened. */
export interface ScreenedMessage {
  message: NewInboxMessage & { session_id: string; message: QueuedMessage };
  guarded: GuardedMessage;
  /**
   * The notice to the sender that the session has reached its message limit; `afterVerdict` fills in `{max}` and
   * `{time}`.
   */
  notice: NewInboxMessage;
  /** As in `TraceRecord`, for the trace of a blocked message. */
  agent_digest?: string;
}

/** The result of `screen`. Lists are indexed like the arrivals. */
export interface Screened {
  verdicts: GuardVerdict[];
  /**
   * One outcome per verdict, for the message or notice that was to be stored; null if there was none. Null as a whole
   * if the inbox is full.
   */
  outcomes: ('kept' | 'repeated' | null)[] | null;
}

export interface InboxMessage extends NewInboxMessage {
  state: InboxState;
  /** The ids of the further messages of its turn, in order. Absent until the turn is fixed (`InboxStore.collect`). */
  collected?: readonly string[];
  /** The id of the turn that has taken up this message, which is the id of the first message. Absent if there is none. */
  turn_id?: string;
  received_at: number;
  /** The number of runs that were begun. */
  attempts: number;
  /** The number of runs that failed for a temporary reason. They do not count against the allowed number. */
  passing: number;
  /** When the first run began; null before that. */
  first_run_at: number | null;
  /** The number of attempts to send the current text. */
  sends: number;
  /** When the current text (reply or notice) was stored; null before that. */
  text_stored_at: number | null;
  /** The number of parts of that text that the platform has confirmed. */
  parts_sent: number;
  /** The number of consecutive attempts during which the process died. */
  interrupted: number;
  next_attempt_at: number;
  /** Where the platform shows the question of the reply with its buttons. Absent if there are none, or no longer. */
  card?: { question_id: string; sent_id: string; closes_at: number };
  /** What the reply still needs before it is sent. Absent if it needs nothing. */
  sign_in?: SignInHint;
  /** The question at the end of the reply; null if there is none. */
  question: StoredQuestion | null;
  /** The text that is sent to the person after the run failed for good. Null if there is an agent's reply. */
  notice: string | null;
  /**
   * Why the last run failed or, once a reply is stored, why the last attempt to send it failed: a code, and the reason
   * if there is one.
   */
  failure: string | null;
  /** Why the notice could not be sent. */
  notice_failure: string | null;
  /** When the message was done or failed; null before that. */
  ended_at: number | null;
}

/** The attempts that a worker may begin now. */
export interface Room extends Readonly<Record<AttemptKind, number>> {
  /** Whether the worker makes no attempt now. */
  idle: boolean;
}

/** The result of `take`. */
export interface Taken {
  outages: Outage[];
  /** Whether an interrupted message was claimed, or waits until the worker is idle: no other attempt may begin now. */
  interrupted: boolean;
  claims: InboxClaim[];
}

/** The right to make one attempt at a message. */
export interface InboxClaim extends Claim {
  /** The message as it was claimed, with this attempt counted. */
  readonly message: InboxMessage;
}
