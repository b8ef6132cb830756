import type { PersonKey } from '../identity/identity.ts';
import type { KeyClaim, SessionClaim } from './claims.ts';

/**
 * The journal of actions, and the actions that wait to be confirmed: one record for each, from the moment it is asked
 * for or sent (agentd-agent(7), "Journal", "Confirmation"). `pending → started → done | failed | unknown`, or
 * `pending → declined | withdrawn | expired`; an action that needs no confirmation begins as `started`.
 *
 * A pending action is stored with its turn (`TurnChanges.pending`), so that there is no question without its record. The
 * store withdraws it in the same write that ends or replaces its session, and notes in the same write that settles the
 * message of the inbox (`asked_by`) that its question was sent, or never will be. Once its time has passed, it is
 * returned as `expired`. Records are kept for ACTIONS_RETENTION_DAYS.
 */
export interface ActionStore {
  /** The actions that wait in a session, oldest first; none if the session has ended. Those that have expired are left out. */
  pendingIn(session_tag: string): Promise<Action[]>;
  /** By its id, in whatever state; null if there is none. */
  find(action_id: string): Promise<Action | null>;
  /**
   * Ends a pending action, and makes it one of the turn that ends it. `started`: it was confirmed, and the call is about
   * to be sent; durable when it resolves. Atomic: `settled` for one caller. Nothing is changed otherwise: `gone` if it is
   * not pending any more, or its session has ended or is not the one of the claim; `lost` if the claim is gone.
   * @param turn_key of the turn that ends it, in place of the one that asked.
   */
  settle(
    claim: SessionClaim,
    action_id: string,
    to: 'started' | 'declined' | 'withdrawn',
    turn_key: string,
  ): Promise<'settled' | 'gone' | 'lost'>;
  /**
   * Withdraws what is pending: one action, all of a session, or everything that a platform's user was asked. Needs no
   * claim.
   */
  withdraw(of: WithdrawnActions): Promise<void>;
  /**
   * Records that a write is about to be sent; durable when it resolves. Atomic. If there is an action of that id
   * already, nothing is stored and that action is returned; `lost` if one of the claims is gone.
   * @param claims null: an administrator's call, which belongs to no session.
   */
  start(
    claims: RunClaims | null,
    action: NewAction,
  ): Promise<{ outcome: 'started' } | { outcome: 'lost' } | { outcome: 'known'; action: Action }>;
  /**
   * Records that a write whose outcome is not known is about to be sent again: it is `started`, by its next attempt.
   * `gone` if its outcome is known by now.
   * @param attempt the last one.
   */
  restart(claims: RunClaims, action_id: string, attempt: number): Promise<'started' | 'gone' | 'lost'>;
  /**
   * Records what came of an attempt; durable when it resolves. A fact, so it needs no claim. What is known stays: `done`
   * never changes, and an earlier attempt than the last one changes nothing, unless it is `done`.
   */
  finish(action_id: string, attempt: number, outcome: ActionOutcome): Promise<void>;
  /** The actions that a turn has begun or ended, oldest first; those that wait are not included. */
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
  /** Who they were done for. `nobodys`: of a platform's user, those alone that were done for no person. */
  who?: { person: PersonKey } | { platform: string; user_id: string; nobodys?: boolean };
  /** A session's id at the time, or its tag. */
  session?: string;
  /** Sent at this time or later. */
  since?: number;
  limit: number;
}

/** Whose journal the sender of a message may read: their own. */
export interface OwnActions {
  who: NonNullable<ActionFilter['who']>;
  /** Only actions with this alias are theirs; null for a person. */
  alias_id: string | null;
}

export interface NewAction {
  /**
   * Of an action that needs no confirmation the key of the call, a hash (agentd-agent(7), "Journal"); of a pending one,
   * and of an administrator's, random, 128 bits.
   */
  action_id: string;
  /** Null: an administrator's call. */
  session_tag: string | null;
  session_id: string | null;
  platform: string | null;
  /** The channel user. */
  user_id: string | null;
  /** Another id of the channel user, if the platform sends one: with another alias, the user id has a new owner. */
  alias_id: string | null;
  person: PersonKey | null;
  /** The system user that called the tool as an administrator; null: an agent's run. */
  operator: string | null;
  /** The turn that it belongs to, the same for each run of a message (`turnKey`). */
  turn_key: string;
  tool: string;
  /** JSON of the arguments, sealed. */
  args: string;
  /** Sealed. */
  summary: string;
}

/** An action that its person must confirm. It replaces one that is still pending for the same principal. */
export interface NewPendingAction extends NewAction {
  session_tag: string;
  /** Who must confirm: a person, or a platform's user. One action is pending for each in a session. */
  principal: string;
  /**
   * The id of the message of the inbox whose reply asks: it is asked once that reply was sent. Null: the commit
   * asks, because the reply is not sent later.
   */
  asked_by: string | null;
  /** How long it waits for an answer once it was asked, ms. */
  answer_ms: number;
  /** How long it waits for its question to be sent, ms. */
  unasked_ms: number;
}

export interface ActionOutcome {
  /**
   * `failed`: the API refused it, or nothing was sent. `unknown`: it was sent, and nobody knows whether it was carried
   * out.
   */
  state: 'done' | 'failed' | 'unknown';
  /** Status of the HTTP answer; null if there is none. */
  status: number | null;
  /** The answer as the agent was given it, JSON, sealed; null if there is none. A repeated run gets it again. */
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
  /** How often it was sent, or was about to be. */
  attempt: number;
  status: number | null;
  answer: string | null;
  /** When the question was sent; null before, or if there was none. */
  asked_at: number | null;
  /** When a pending action expires, or would have; null if nobody had to confirm. */
  expires_at: number | null;
  created_at: number;
  started_at: number | null;
  /** When its outcome was recorded, or it was declined or withdrawn. */
  finished_at: number | null;
}
