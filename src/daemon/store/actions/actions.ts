import type { PersonKey } from '../../identity/identity.ts';
import type { KeyClaim, SessionClaim } from '../claims/claims.ts';

/**
 * The journal of actions, and the actions that wait to be confirmed. There is one record for each action, from the
 * moment when the person is asked or the call is sent (agentd-agent(7), "Journal", "Confirmation"). Its states are
 * `pending → confirmed → started → done | failed | unknown`, or `pending → declined | withdrawn | expired`. An action
 * that needs no confirmation begins as `started`. A question asks about a list of actions, which is often a list of one.
 * They are answered together, in one step, in which the first call also begins: the others that the person confirmed are
 * `confirmed` until their calls are sent.
 *
 * A pending action is stored with its turn (`TurnChanges.pending`), so that there is no question without its record.
 * The write that ends or replaces a session also withdraws the session's pending actions. `asked_by` names the message
 * that asks the question. The write that settles this message also records that the question was sent, or that it never
 * will be. A pending action whose time has passed is returned as `expired`. Records are kept for
 * ACTIONS_RETENTION_DAYS.
 */
export interface ActionStore {
  /** The pending actions of a session that have not expired, oldest first; none if the session has ended. */
  pendingIn(session_tag: string): Promise<Action[]>;
  /** Finds an action by its id, in any state; null if there is none. */
  find(action_id: string): Promise<Action | null>;
  /**
   * The actions that one question asks about, in their order and in any state; empty if there are none.
   * @param question_id the id of the question (`toQuestionId`)
   */
  ofQuestion(question_id: string): Promise<Action[]>;
  /**
   * Records the person's answer to a question, for each of its actions. They belong to this turn from then on. Atomic,
   * durable when it resolves: `gone` if one of them is no longer pending, and then nothing is changed.
   */
  answer(claim: SessionClaim, answer: QuestionAnswer, turn_key: string): Promise<'settled' | 'gone' | 'lost'>;
  /**
   * Records that the call of an action is about to be sent, or that it will not be made. Durable when it resolves. Only
   * the turn that has recorded an action as confirmed settles it; any turn may withdraw a pending action, which then
   * belongs to that turn. Atomic: only one caller gets `settled`. In all other cases nothing is changed. `gone`: the
   * action was settled before, its session has ended, or the claim is for another session. `lost`: the claim is gone.
   */
  settle(
    claim: SessionClaim,
    action_id: string,
    to: 'started' | 'withdrawn',
    turn_key: string,
  ): Promise<'settled' | 'gone' | 'lost'>;
  /**
   * Withdraws pending actions: a single one, all of a session, or all that a platform's user was asked to confirm.
   * Needs no claim.
   */
  withdraw(of: WithdrawnActions): Promise<void>;
  /**
   * Records that a write is about to be sent; durable when it resolves. Atomic. If an action with this id exists
   * already, nothing is stored and the existing action is returned. `lost`: one of the claims is gone.
   * @param claims null for a call by an administrator, which belongs to no session.
   */
  start(claims: RunClaims | null, action: NewAction): Promise<Started>;
  /**
   * Records that a write whose outcome is unknown is about to be sent again: the action becomes `started`, with the
   * next attempt. `gone`: the outcome has become known, or another attempt has begun.
   * @param attempt the number of the last attempt.
   */
  restart(claims: RunClaims, action_id: string, attempt: number): Promise<'started' | 'gone' | 'lost'>;
  /**
   * Records the outcome of an attempt; durable when it resolves. An outcome is a fact, so it needs no claim. A known
   * outcome is not replaced, except that `done` replaces `failed`. An attempt that is not the last one can only report
   * `done`; any other outcome of it is ignored.
   */
  finish(action_id: string, attempt: number, outcome: ActionOutcome): Promise<void>;
  /**
   * The actions that belong to a turn, oldest first. Actions that are stored as pending are not included, even if they
   * have expired.
   */
  ofTurn(turn_key: string): Promise<Action[]>;
  /** The newest writes that were sent or are about to be sent in a session, newest first; at most `SENT_MAX`. */
  sentIn(session_tag: string): Promise<Action[]>;
  /**
   * Whether a tool wrote in a session within the last `within_ms`, or may have written. Also true if there were too many
   * writes to know.
   */
  wroteSince(session_tag: string, tool: string, within_ms: number): Promise<boolean>;
  /** Writes that were sent or are about to be sent, newest first. */
  list(filter: ActionFilter): Promise<Action[]>;
}

export type Started = { outcome: 'started' | 'lost' } | { outcome: 'known'; action: Action };

export type WithdrawnActions =
  | { action_id: string }
  /** `of`: only the actions of this person. */
  | { session_tag: string; of?: PersonKey | null }
  /** `keep`: the actions of this person are not withdrawn. */
  | { platform: string; user_id: string; keep?: PersonKey };

/** The claims of a run that writes. If one of them was taken over, another run may be writing already. */
export interface RunClaims {
  session: SessionClaim;
  /** Null: the message has no idempotency key. */
  key: KeyClaim | null;
}

export interface ActionFilter {
  /**
   * For whom the actions were carried out. `nobodys`: only actions of a platform's user that were carried out for no
   * person.
   */
  who?: { person: PersonKey } | { platform: string; user_id: string; nobodys?: boolean };
  /** The id that the session had at the time, or its tag. */
  session?: string;
  /** Only actions that were sent at this time or later. */
  since?: number;
  limit: number;
}

/** The actions in the journal that the sender of a message may read: the sender's own. */
export interface OwnActions {
  who: NonNullable<ActionFilter['who']>;
  /** Only actions with this alias belong to the sender; null for a person. */
  alias_id: string | null;
}

/** The person's answer to a question: each of its actions is in one of the lists. */
export interface QuestionAnswer {
  confirmed: readonly string[];
  declined: readonly string[];
  /** The confirmed action whose call begins with the answer. Absent: none does. */
  begun?: string | undefined;
  /** When the daemon accepted the message with the answer, ms since the epoch. */
  answered_at: number;
}

/** A reply that the person who was asked got while the question was open. */
interface SeenReply {
  /** When it left. */
  readonly at: number;
  /** Whether it ended with the question. */
  readonly asks: boolean;
}

/** What a reply says about the open question to its reader. */
export interface ReplyToAsked {
  /** The reader (`NewPendingAction.principal`). */
  principal: string;
  /** The id of the inbox message whose reply it is. Null: it leaves with the commit. */
  sent_by: string | null;
  /**
   * The open question with which the reply ends. `counts`: the reply answers a message that was neither a yes nor a no.
   * Null: it does not end with an earlier question.
   */
  repeats: { question_id: string; counts: boolean } | null;
  /** The reply says that this question is withdrawn; null if it withdraws none. */
  withdraws: string | null;
}

export interface NewAction {
  /**
   * 128 random bits for an administrator's action, `actionIds` for a pending one. For all other actions, this is the key
   * of the call (agentd-agent(7), "Journal"), which is a hash.
   */
  action_id: string;
  /** Null: an administrator's call. */
  session_tag: string | null;
  session_id: string | null;
  platform: string | null;
  /** The channel user. */
  user_id: string | null;
  /** Another id of the channel user, if the platform sends one. If the alias changes, the user id has a new owner. */
  alias_id: string | null;
  person: PersonKey | null;
  /** The system user that called the tool as an administrator; null if an agent called it. */
  operator: string | null;
  /** The turn that the action belongs to. Each run of the same message has the same key (`turnKey`). */
  turn_key: string;
  tool: string;
  /** The digest of the record of the tool that the person was asked about. Absent: nobody was asked. */
  tool_digest?: string;
  /** JSON of the arguments, sealed. */
  args: string;
  /** Sealed. */
  summary: string;
  /** When its reply said that the question ends, ms since the epoch. Absent if the reply did not say, or nobody was asked. */
  told_end?: number;
  /** Whether the run that asked may have been told what to do by a tool of another origin (`RunTaint`). */
  tainted?: boolean;
}

/** The message that an action comes from, unless an administrator makes the call. */
export type ActionOrigin = Pick<NewAction, 'alias_id' | 'person' | 'turn_key'> &
  Record<'session_tag' | 'session_id' | 'platform' | 'user_id', string>;

/** An action that must be confirmed. Its question replaces the one of the same principal in the same session. */
export interface NewPendingAction extends NewAction {
  session_tag: string;
  /** Who must confirm: a person or a platform's user. Each principal can have only one question in a session. */
  principal: string;
  /**
   * The id of the inbox message whose reply asks the question. The question counts as asked when that reply was sent.
   * Null if the reply does not pass through the inbox: the question counts as asked with the commit.
   */
  asked_by: string | null;
  /** How long the action waits for an answer after the question was asked, ms. */
  answer_ms: number;
  /** How long the action waits for its question to be sent, ms. */
  unasked_ms: number;
}

export interface ActionOutcome {
  /**
   * `failed`: the API refused the call, or nothing was sent. `unknown`: the call was sent, but it is not known whether
   * it was carried out.
   */
  state: 'done' | 'failed' | 'unknown';
  /** Status of the HTTP answer; null if there is none. */
  status: number | null;
  /** The answer as the agent got it, as sealed JSON; null if there is none. A repeated run gets the same answer. */
  answer: string | null;
}

export type ActionState =
  | 'pending'
  /** The person has confirmed it, and its call has not been sent yet. */
  | 'confirmed'
  | 'started'
  | 'done'
  | 'failed'
  | 'unknown'
  | 'declined'
  | 'withdrawn'
  | 'expired';

/**
 * How long a call that was sent may have no outcome, ms. After that, the process that sent it must have died, because
 * calls end within two minutes.
 */
export const RUNNING_MS = 150_000;

/**
 * Whether the call may have been carried out, but its outcome is not known. If the process that started the call died,
 * the action stays `started`.
 */
export function isUnknown({ state }: { state: ActionState }): boolean {
  return state === 'started' || state === 'unknown';
}

export interface Action extends NewAction {
  state: ActionState;
  /** Who must confirm; null if nobody had to. */
  principal: string | null;
  /** How often the call was sent or was about to be sent. */
  attempt: number;
  status: number | null;
  answer: string | null;
  /** When the question was first sent; null before that, or if there was no question. */
  asked_at: number | null;
  /**
   * The replies that the person has got since then, oldest first; of several in a row that end with the question, or do
   * not, only the first. Absent if there are none.
   */
  seen_replies?: readonly SeenReply[];
  /** How many replies have ended with the question again, after messages that were neither a yes nor a no. */
  repeats?: number;
  /** When the message was accepted that confirmed or declined the action. Absent if none did. */
  answered_at?: number;
  /** When a pending action expires; for a settled one, when it would have expired. Null if nobody had to confirm. */
  expires_at: number | null;
  created_at: number;
  started_at: number | null;
  /** When the outcome was recorded, or when the action was declined or withdrawn. */
  finished_at: number | null;
}

/** The ids of the actions of a question, in the order in which they are shown and carried out. */
export function actionIds(question_id: string, count: number): string[] {
  return count === 1 ? [question_id] : Array.from({ length: count }, (_, n) => `${question_id}:${n + 1}`);
}

/** The id of the question that asks about an action. */
export function toQuestionId({ action_id }: Pick<NewAction, 'action_id'>): string {
  return action_id.replace(/:\d+$/, '');
}

/** Maximum number of writes that `ActionStore.sentIn` returns. */
export const SENT_MAX = 200;
