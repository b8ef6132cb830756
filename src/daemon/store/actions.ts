import type { PersonKey } from '../identity/identity.ts';
import { byPersonOf } from './by-person.ts';
import { keepsSession } from './claim-state.ts';
import type { KeyClaim, SessionClaim } from './claims.ts';
import { holdsKey, noteStarted } from './idempotency.ts';
import type { IndexEntry, Kernel, Kind, Tx } from './kernels/kernel.ts';
import { listed } from './listed.ts';
import { findSession } from './session-document.ts';
import { newestWrites, noteWrite, SESSION_WRITE } from './session-writes.ts';

/**
 * The journal of actions, and the actions that wait to be confirmed. There is one record for each action, from the
 * moment when the person is asked or the call is sent (agentd-agent(7), "Journal", "Confirmation"). Its states are
 * `pending → started → done | failed | unknown`, or `pending → declined | withdrawn | expired`. An action that needs no
 * confirmation begins as `started`.
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
   * Settles a pending action, which from then on belongs to the turn that settles it. Atomic: only one caller gets
   * `settled`. In all other cases nothing is changed. `gone`: the action is no longer pending, its session has ended,
   * or the claim is for another session. `lost`: the claim is gone.
   * @param to `started`: the action was confirmed, and the call is about to be sent; durable when it resolves.
   * @param turn_key the turn that settles the action; it replaces the turn that asked for confirmation.
   */
  settle(
    claim: SessionClaim,
    action_id: string,
    to: 'started' | 'declined' | 'withdrawn',
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
  start(
    claims: RunClaims | null,
    action: NewAction,
  ): Promise<{ outcome: 'started' } | { outcome: 'lost' } | { outcome: 'known'; action: Action }>;
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

export interface NewAction {
  /**
   * 128 random bits for a pending action or an administrator's action. For all other actions, this is the key of the
   * call (agentd-agent(7), "Journal"), which is a hash.
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
  /** JSON of the arguments, sealed. */
  args: string;
  /** Sealed. */
  summary: string;
}

/** An action that must be confirmed. It replaces the pending action of the same principal in the same session. */
export interface NewPendingAction extends NewAction {
  session_tag: string;
  /** Who must confirm: a person or a platform's user. Each principal can have only one pending action in a session. */
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
  /** How often the call was sent or was about to be sent. */
  attempt: number;
  status: number | null;
  answer: string | null;
  /** When the question was sent; null before that, or if there was no question. */
  asked_at: number | null;
  /** When a pending action expires; for a settled one, when it would have expired. Null if nobody had to confirm. */
  expires_at: number | null;
  created_at: number;
  started_at: number | null;
  /** When the outcome was recorded, or when the action was declined or withdrawn. */
  finished_at: number | null;
}

/** An action, the properties that only a pending action has, and its place in the order of storing. */
export interface StoredAction {
  action: Action;
  asked_by: string | null;
  answer_ms: number;
  serial: number;
  /** When the record is deleted, ms since the epoch. */
  expires_at: number;
}

export const ACTION: Kind<StoredAction> = {
  name: 'action',
  isSparse: true,
  expires: ({ expires_at }) => expires_at,
  indexes: ({ action, asked_by, serial }) => {
    const { state, session_tag, turn_key, platform, user_id } = action;
    if (state !== 'pending') return [[`turn ${turn_key}`, serial]];
    const places: IndexEntry[] = [[`pending in ${session_tag}`, serial]];
    if (asked_by !== null && action.asked_at === null) places.push([`asked by ${asked_by}`, serial]);
    if (platform !== null && user_id !== null) places.push([pendingOf(platform, user_id), serial]);
    const person = byPersonOf(action.person);
    if (person !== null) places.push([pendingFor(person), serial]);
    return places;
  },
  isWide: (index) => index.startsWith('turn '),
};

/** Maximum number of writes that `ActionStore.sentIn` returns. */
export const SENT_MAX = 200;

/** Maximum number of actions of one turn or one session that a step reads. */
const READ_MAX = 1000;

export function actionStore(
  kernel: Kernel,
  { actionsRetentionMs }: { actionsRetentionMs: number },
): ActionStore {
  const journaled = <R>(work: (tx: Tx) => R) => kernel.step(work, { journal: true });
  return {
    pendingIn: (session_tag) => kernel.step((tx) => pendingActionsIn(tx, session_tag)),
    find: (action_id) =>
      kernel.step((tx) => {
        const stored = tx.get(ACTION, action_id);
        return stored && asItIsNow(stored.action, tx.now);
      }),
    settle: (claim, action_id, to, turn_key) =>
      journaled((tx) => {
        if (!keepsSession(tx, claim)) return 'lost';
        const stored = tx.get(ACTION, action_id);
        if (stored?.action.session_tag !== claim.session_tag || !isOpen(tx, stored.action)) return 'gone';
        const times = to === 'started' ? { attempt: 1, started_at: tx.now } : { finished_at: tx.now };
        change(tx, stored, { state: to, turn_key, ...times });
        if (to === 'started') noteWrite(tx, action_id, claim.session_tag, stored.expires_at);
        return 'settled';
      }),
    withdraw: (of) => kernel.step((tx) => withdrawActions(tx, of)),
    start: (held, action) =>
      journaled((tx) => {
        if (held !== null && !areHeld(tx, held)) return { outcome: 'lost' };
        const known = tx.get(ACTION, action.action_id)?.action;
        if (known) return { outcome: 'known', action: asItIsNow(known, tx.now) };
        if (held?.key) noteStarted(tx, held.key.key);
        const expires_at = tx.now + actionsRetentionMs;
        noteWrite(tx, action.action_id, action.session_tag, expires_at);
        tx.put(ACTION, action.action_id, {
          action: {
            ...action,
            ...{ state: 'started', principal: null, attempt: 1, status: null, answer: null },
            ...{
              asked_at: null,
              expires_at: null,
              created_at: tx.now,
              started_at: tx.now,
              finished_at: null,
            },
          },
          asked_by: null,
          answer_ms: 0,
          serial: tx.serial(),
          expires_at,
        });
        return { outcome: 'started' };
      }),
    restart: (held, action_id, attempt) =>
      journaled((tx) => {
        if (!areHeld(tx, held)) return 'lost';
        const stored = tx.get(ACTION, action_id);
        if (stored?.action.attempt !== attempt || !isUncertain(stored.action)) return 'gone';
        change(tx, stored, {
          ...{ state: 'started', attempt: attempt + 1, status: null, answer: null },
          ...{ started_at: tx.now, finished_at: null },
        });
        return 'started';
      }),
    finish: (action_id, attempt, outcome) =>
      kernel.step((tx) => {
        const stored = tx.get(ACTION, action_id);
        if (stored === null) return;
        const { action } = stored;
        const isLate = outcome.state === 'done' && (isUncertain(action) || action.state === 'failed');
        if (isLate || (action.attempt === attempt && isUncertain(action)))
          change(tx, stored, { ...outcome, finished_at: tx.now });
      }),
    ofTurn: (turn_key) => kernel.step((tx) => actionsOfTurn(tx, turn_key)),
    sentIn: (session_tag) => kernel.step((tx) => sentIn(tx, session_tag)),
    wroteSince: (session_tag, tool, within_ms) =>
      kernel.step((tx) => {
        const sent = sentIn(tx, session_tag);
        const late = sent.filter(({ started_at, finished_at }) => {
          return (finished_at ?? started_at ?? 0) > tx.now - within_ms;
        });
        return (
          late.length >= SENT_MAX || late.some((action) => action.tool === tool && action.state !== 'failed')
        );
      }),
    list: async (filter) =>
      (await listed(kernel, ACTION, ({ action }) => isListed(action, filter)))
        .sort((a, b) => b.serial - a.serial)
        .slice(0, filter.limit)
        .map(({ action }) => action),
  };
}

/** Deletes an action. */
export function dropAction(tx: Tx, action_id: string): void {
  tx.delete(SESSION_WRITE, action_id);
  tx.delete(ACTION, action_id);
}

/** Stores an action that the committed turn asks the person to confirm. */
export function addPending(tx: Tx, added: NewPendingAction, actionsRetentionMs: number): void {
  const { asked_by, answer_ms, unasked_ms, ...action } = added;
  for (const stored of pendingIn(tx, action.session_tag))
    if (stored.action.principal === action.principal) withdraw(tx, stored);
  tx.put(ACTION, action.action_id, {
    action: {
      ...action,
      ...{ state: 'pending', attempt: 0, status: null, answer: null, created_at: tx.now },
      ...(asked_by === null
        ? { asked_at: tx.now, expires_at: tx.now + answer_ms }
        : { asked_at: null, expires_at: tx.now + unasked_ms }),
      ...{ started_at: null, finished_at: null },
    },
    asked_by,
    answer_ms,
    serial: tx.serial(),
    expires_at: tx.now + actionsRetentionMs,
  });
}

/** Records that the reply of this inbox message was sent, and with it the question at its end, if it has one. */
export function noteAsked(tx: Tx, message_id: string): void {
  for (const stored of askedBy(tx, message_id))
    change(tx, stored, { asked_at: tx.now, expires_at: tx.now + stored.answer_ms });
}

/** Withdraws the action whose question is in the reply of this message, because the reply will not be sent. */
export function dropUnasked(tx: Tx, message_id: string): void {
  for (const stored of askedBy(tx, message_id)) withdraw(tx, stored);
}

/** `ActionStore.withdraw`. */
export function withdrawActions(tx: Tx, of: WithdrawnActions): void {
  for (const stored of meantBy(tx, of)) withdraw(tx, stored);
}

/** Withdraws the pending actions of a session that ends. */
export function withdrawIn(tx: Tx, session_tag: string): void {
  for (const stored of pendingIn(tx, session_tag)) withdraw(tx, stored);
}

/** Withdraws all pending actions. */
export async function withdrawAll(kernel: Kernel): Promise<void> {
  for await (const { key, doc } of kernel.scan(ACTION)) {
    if (doc.action.state !== 'pending') continue;
    await kernel.step((tx) => {
      const stored = tx.get(ACTION, key);
      if (stored?.action.state === 'pending') withdraw(tx, stored);
    });
  }
}

/** `ActionStore.pendingIn`. */
export function pendingActionsIn(tx: Tx, session_tag: string): Action[] {
  const found = pendingIn(tx, session_tag).map(({ action }) => action);
  return found.length > 0 && findSession(tx, session_tag) !== null ? found : [];
}

function sentIn(tx: Tx, session_tag: string): Action[] {
  return newestWrites(tx, session_tag, SENT_MAX).flatMap((id) => tx.get(ACTION, id)?.action ?? []);
}

/** `ActionStore.ofTurn`. */
export function actionsOfTurn(tx: Tx, turn_key: string): Action[] {
  return tx.first(ACTION, `turn ${turn_key}`, READ_MAX).map(({ doc }) => doc.action);
}

function pendingIn(tx: Tx, session_tag: string): StoredAction[] {
  return waiting(tx, `pending in ${session_tag}`);
}

function askedBy(tx: Tx, message_id: string): StoredAction[] {
  return waiting(tx, `asked by ${message_id}`);
}

function pendingOf(platform: string, user_id: string): string {
  return `pending of ${JSON.stringify([platform, user_id])}`;
}

function pendingFor(person: string): string {
  return `pending for ${person}`;
}

/** The pending actions of a person in every tenant. @param person `byPerson` */
export function pendingActionsFor(tx: Tx, person: string): Action[] {
  return waiting(tx, pendingFor(person)).map(({ action }) => action);
}

/** The actions of an index of pending ones that have not expired. */
function waiting(tx: Tx, index: string): StoredAction[] {
  return tx
    .first(ACTION, index, READ_MAX)
    .map(({ doc }) => doc)
    .filter(({ action }) => isPending(action, tx.now));
}

function meantBy(tx: Tx, of: WithdrawnActions): StoredAction[] {
  if ('action_id' in of) {
    const stored = tx.get(ACTION, of.action_id);
    return stored !== null && isPending(stored.action, tx.now) ? [stored] : [];
  }
  if ('session_tag' in of)
    return pendingIn(tx, of.session_tag).filter(
      ({ action: { person } }) => of.of === undefined || person === of.of,
    );
  return waiting(tx, pendingOf(of.platform, of.user_id)).filter(
    ({ action: { person } }) => person === null || person !== of.keep,
  );
}

function withdraw(tx: Tx, stored: StoredAction): void {
  change(tx, stored, { state: 'withdrawn', finished_at: tx.now });
}

function change(tx: Tx, stored: StoredAction, to: Partial<Action>): void {
  tx.put(ACTION, stored.action.action_id, { ...stored, action: { ...stored.action, ...to } });
}

function areHeld(tx: Tx, { session, key }: RunClaims): boolean {
  return keepsSession(tx, session) && (key === null || holdsKey(tx, key));
}

function isOpen(tx: Tx, action: Action): boolean {
  return (
    isPending(action, tx.now) && action.session_tag !== null && findSession(tx, action.session_tag) !== null
  );
}

/** Whether the action waits to be confirmed and has not expired. */
function isPending({ state, expires_at }: Action, now: number): boolean {
  return state === 'pending' && (expires_at ?? 0) > now;
}

/** Whether the call was sent or was about to be sent, but its outcome is not known. */
function isUncertain({ state }: Action): boolean {
  return state === 'started' || state === 'unknown';
}

function asItIsNow(action: Action, now: number): Action {
  return action.state !== 'pending' || isPending(action, now) ? action : { ...action, state: 'expired' };
}

function isListed(action: Action, { who, session, since = 0 }: ActionFilter): boolean {
  if (action.started_at === null || action.started_at < since) return false;
  if (session !== undefined && session !== action.session_tag && session !== action.session_id) return false;
  if (who === undefined) return true;
  if ('person' in who) return action.person === who.person;
  const isTheirs = action.platform === who.platform && action.user_id === who.user_id;
  return isTheirs && !(who.nobodys && action.person !== null);
}
