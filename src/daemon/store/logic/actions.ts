import type {
  Action,
  ActionFilter,
  ActionStore,
  NewPendingAction,
  RunClaims,
  WithdrawnActions,
} from '../actions.ts';
import type { IndexEntry, Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { keepsSession } from './claim-state.ts';
import { holdsKey, noteStarted } from './idempotency.ts';
import { listed } from './listed.ts';
import { findSession } from './session-document.ts';

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
    return places;
  },
  isWide: (index) => index.startsWith('turn '),
};

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
        return 'settled';
      }),
    withdraw: (of) =>
      kernel.step((tx) => {
        for (const stored of meantBy(tx, of)) withdraw(tx, stored);
      }),
    start: (held, action) =>
      journaled((tx) => {
        if (held !== null && !areHeld(tx, held)) return { outcome: 'lost' };
        const known = tx.get(ACTION, action.action_id)?.action;
        if (known) return { outcome: 'known', action: asItIsNow(known, tx.now) };
        if (held?.key) noteStarted(tx, held.key.key);
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
          expires_at: tx.now + actionsRetentionMs,
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
    list: async (filter) =>
      (await listed(kernel, ACTION, ({ action }) => isListed(action, filter)))
        .sort((a, b) => b.serial - a.serial)
        .slice(0, filter.limit)
        .map(({ action }) => action),
  };
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
  if ('session_tag' in of) return pendingIn(tx, of.session_tag);
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
