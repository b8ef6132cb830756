import type { PersonKey } from '../identity/identity.ts';
import type { KeyClaim, SessionClaim } from './claims.ts';

/**
 * The journal of actions, and the actions that wait to be confirmed: one record for each, from the moment when the
 * person is asked or the call is sent (agentd-agent(7), "Journal", "Confirmation"). `pending → started → done | failed
 * | unknown`, or `pending → declined | withdrawn | expired`; an action that needs no confirmation begins as `started`.
 *
 * A pending action is stored with its turn (`TurnChanges.pending`), so that there is no question without its record.
 * The write that ends or replaces its session also withdraws the action. The write that settles the message of the
 * inbox (`asked_by`) also records that the question was sent, or never will be. Once its time has passed, the action is
 * returned as `expired`. Records are kept for ACTIONS_RETENTION_DAYS.
 */
export interface ActionStore {
  /** The actions that wait in a session, oldest first; none if the session has ended. Expired ones are left out. */
  pendingIn(session_tag: string): Promise<Action[]>;
  /** Finds an action by its id, in any state; null if there is none. */
  find(action_id: string): Promise<Action | null>;
  /**
   * Ends the wait of a pending action, which from then on belongs to the turn that ends it. `started`: it was
   * confirmed, and the call is about to be sent; durable when it resolves. Atomic: only one caller gets `settled`. In
   * all other cases nothing is changed: `gone` if it is no longer pending, or if its session has ended or is not that
   * of the claim; `lost` if the claim is gone.
   * @param turn_key that of the turn that ends the wait; it replaces that of the turn that asked.
   */
  settle(
    claim: SessionClaim,
    action_id: string,
    to: 'started' | 'declined' | 'withdrawn',
    turn_key: string,
  ): Promise<'settled' | 'gone' | 'lost'>;
  /**
   * Withdraws pending actions: one, all of a session, or all that a platform's user was asked about. Needs no claim.
   */
  withdraw(of: WithdrawnActions): Promise<void>;
  /**
   * Records that a write is about to be sent; durable when it resolves. Atomic. If an action with that id exists
   * already, nothing is stored and the existing action is returned; `lost` if one of the claims is gone.
   * @param claims null for a call by an administrator, which belongs to no session.
   */
  start(
    claims: RunClaims | null,
    action: NewAction,
  ): Promise<{ outcome: 'started' } | { outcome: 'lost' } | { outcome: 'known'; action: Action }>;
  /**
   * Records that a write whose outcome is unknown is about to be sent again: it becomes `started`, with the next
   * attempt. `gone` if its outcome is known by now.
   * @param attempt the number of the last attempt.
   */
  restart(claims: RunClaims, action_id: string, attempt: number): Promise<'started' | 'gone' | 'lost'>;
  /**
   * Records the outcome of an attempt; durable when it resolves. An outcome is a fact, so it needs no claim. Known
   * outcomes stay: `done` never changes, and the outcome of an attempt before the last one changes nothing, unless it
   * is `done`.
   */
  finish(action_id: string, attempt: number, outcome: ActionOutcome): Promise<void>;
  /** The actions that a turn has begun or ended, oldest first; pending actions are not included. */
  ofTurn(turn_key: string): Promise<Action[]>;
  /** Writes that were sent, newest first. */
  list(filter: ActionFilter): Promise<Action[]>;
}

export type WithdrawnActions =
  | { action_id: string }
  | { session_tag: string }
  /** `keep`: the actions of this person stay. */
  | { platform: string; user_id: string; keep?: PersonKey };

/** The claims of a run that writes: if one of them was taken over, another run may be writing already. */
export interface RunClaims {
  session: SessionClaim;
  /** Null: the message has no idempotency key. */
  key: KeyClaim | null;
}

export interface ActionFilter {
  /**
   * For whom the actions were carried out. `nobodys`: only those of a platform's user that were not carried out for a
   * person.
   */
  who?: { person: PersonKey } | { platform: string; user_id: string; nobodys?: boolean };
  /** The id that the session had at the time, or its tag. */
  session?: string;
  /** Sent at this time or later. */
  since?: number;
  limit: number;
}

/** The journal that the sender of a message may read: their own. */
export interface OwnActions {
  who: NonNullable<ActionFilter['who']>;
  /** Only actions with this alias belong to the sender; null for a person. */
  alias_id: string | null;
}

export interface NewAction {
  /**
   * For an action that needs no confirmation, the key of the call, a hash (agentd-agent(7), "Journal"). For a pending
   * action, and for one of an administrator, 128 random bits.
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
  /** The turn that the action belongs to, the same for each run of a message (`turnKey`). */
  turn_key: string;
  tool: string;
  /** JSON of the arguments, sealed. */
  args: string;
  /** Sealed. */
  summary: string;
}

/** An action that must be confirmed. It replaces an action that is still pending for the same principal. */
export interface NewPendingAction extends NewAction {
  session_tag: string;
  /** Who must confirm: a person, or a platform's user. In a session, each of them can have one pending action. */
  principal: string;
  /**
   * The id of the message of the inbox whose reply asks the question. The question counts as asked once that reply was
   * sent. Null: it counts as asked with the commit, because the reply is not sent later.
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
  | 'started'
  | 'done'
  | 'failed'
  | 'unknown'
  | 'declined'
  | 'withdrawn'
  | 'expired';

export interface Action extends NewAction {
  state: ActionState;
  /** Who must confirm; null if nobody had to. */
  principal: string | null;
  /** How often the call was sent, or was about to be sent. */
  attempt: number;
  status: number | null;
  answer: string | null;
  /** When the question was sent; null before that, or if there was no question. */
  asked_at: number | null;
  /** When a pending action expires, or would have; null if nobody had to confirm. */
  expires_at: number | null;
  created_at: number;
  started_at: number | null;
  /** When the outcome was recorded, or when the action was declined or withdrawn. */
  finished_at: number | null;
}
