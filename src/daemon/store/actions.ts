import type { PersonKey } from '../identity/identity.ts';
import type { SessionClaim } from './claims.ts';

/**
 * The journal of actions, and the actions that wait to be confirmed: one record for each, from the moment it is asked
 * for or sent (agentd-agent(7), "Journal", "Confirmation"). `pending → started → done | failed | unknown`, or
 * `pending → declined | withdrawn | expired`; an action that needs no confirmation begins as `started`.
 * A pending action is stored with its turn (`TurnChanges.pending`), so that there is no question without its record.
 */
export interface ActionStore {
  /** The pending action of a principal in a session; null if there is none, or if it has expired. */
  pending(session_tag: string, principal: string): Promise<Action | null>;
  /** By its id, in whatever state; null if there is none. */
  find(action_id: string): Promise<Action | null>;
  /** The reply that asks for the action has left: from now on it can be answered, for `ttl_ms`. No effect if it is not pending. */
  asked(action_id: string, ttl_ms: number): Promise<void>;
  /**
   * Ends a pending action. `started`: it was confirmed, and the call is about to be sent. Atomic: true for one caller.
   * `gone` if it is not pending any more, `lost` if the claim is gone; nothing is changed then.
   */
  settle(
    claim: SessionClaim,
    action_id: string,
    to: 'started' | 'declined' | 'withdrawn',
  ): Promise<'settled' | 'gone' | 'lost'>;
  /** Withdraws what is pending in a session without a claim; for the end of a session. */
  withdraw(session_tag: string): Promise<void>;
  /**
   * Records that a write is about to be sent; durable when it resolves. If the turn has an action of that key already,
   * nothing is stored and that action is returned.
   * @param claim null for an administrator's call, which belongs to no session.
   */
  start(claim: SessionClaim | null, action: NewAction): Promise<'started' | 'lost' | Action>;
  /** Records what came of a write; durable when it resolves. A fact, so it needs no claim. */
  finish(action_id: string, outcome: ActionOutcome): Promise<void>;
  /** A write whose outcome was unknown is sent again, under the same key: it is `started` again. */
  restart(claim: SessionClaim, action_id: string): Promise<'started' | 'lost'>;
  /** The actions that a turn has begun, oldest first, those that wait for confirmation not included. */
  ofTurn(session_tag: string, turn_key: string): Promise<Action[]>;
  /** Newest first: writes that were sent. */
  list(filter: ActionFilter): Promise<Action[]>;
}

export interface ActionFilter {
  /** Who they were done for: a person, or a user of a platform. */
  who?: { person: PersonKey } | { platform: string; user_id: string };
  session_id?: string;
  since?: number;
  limit: number;
}

export interface NewAction {
  /** Random, 128 bits. */
  action_id: string;
  /** The key of the call (agentd-agent(7), "Journal"); for a confirmed action its id. */
  key: string;
  /** Null: an administrator's call. */
  session_tag: string | null;
  session_id: string | null;
  platform: string | null;
  /** The channel user. */
  user_id: string | null;
  person: PersonKey | null;
  /** The turn that it belongs to, the same for each run of a message. */
  turn_key: string;
  tool: string;
  /** JSON of the arguments, sealed. */
  args: string;
  /** Sealed. */
  summary: string;
}

/** An action that its person must confirm. */
export interface NewPendingAction extends NewAction {
  /** Who must confirm: a person, or a platform's user; one action is pending for each in a session. */
  principal: string;
  /** How long the record is kept if its question never leaves, ms. */
  ttl_ms: number;
  /** True: the question leaves with the commit itself (in a response, on a stream), so it counts as asked from then on. */
  asked: boolean;
}

export interface ActionOutcome {
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
  status: number | null;
  answer: string | null;
  /** When the question left; null before, or if there was none. */
  asked_at: number | null;
  /** When a pending action expires; null otherwise. */
  expires_at: number | null;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
}
