import { byPersonOrNull } from '../../identity/identity.ts';
import type { IndexEntry, Kind, Tx } from '../kernels/kernel.ts';
import { findSession } from '../sessions/session-document.ts';
import { type Action, toQuestionId } from './actions.ts';

interface UnsentReply {
  readonly message_id: string;
  /** Whether the reply ends with the question about the action. */
  readonly asks: boolean;
}

/** An action, the properties that only a pending action has, and its place in the order of storing. */
export interface StoredAction {
  action: Action;
  /** The replies to the person that have not been sent yet, by the ids of their inbox messages. */
  unsent_replies?: readonly UnsentReply[];
  answer_ms: number;
  serial: number;
  /** When the record is deleted, ms since the epoch. */
  expires_at: number;
}

export const ACTION: Kind<StoredAction> = {
  name: 'action',
  isSparse: true,
  expires: ({ expires_at }) => expires_at,
  indexes: ({ action, unsent_replies = [], serial }) => {
    const { state, session_tag, turn_key, platform, user_id } = action;
    if (state !== 'pending') return [[ofTurn(turn_key), serial]];
    const entries: IndexEntry[] = [[pendingIn(session_tag), serial]];
    for (const { message_id } of unsent_replies) entries.push([askedBy(message_id), serial]);
    if (platform !== null && user_id !== null) entries.push([pendingOf(platform, user_id), serial]);
    const person = byPersonOrNull(action.person);
    if (person !== null) entries.push([pendingFor(person), serial]);
    return entries;
  },
  isWide: (index) => index.startsWith('turn '),
};

/** The index of the actions of a turn that are not pending. */
export function ofTurn(turn_key: string): string {
  return `turn ${turn_key}`;
}

/** The index of the pending actions of a session. */
export function pendingIn(session_tag: string | null): string {
  return `pending in ${session_tag}`;
}

/** The index of the pending actions about which the reply of an inbox message says something. */
export function askedBy(message_id: string): string {
  return `asked by ${message_id}`;
}

/** The index of the pending actions of a person. @param person `byPerson` */
export function pendingFor(person: string): string {
  return `pending for ${person}`;
}

/** The index of the pending actions of a platform's user. */
export function pendingOf(platform: string, user_id: string): string {
  return `pending of ${JSON.stringify([platform, user_id])}`;
}

/** Stores an action with these changes. */
export function put(tx: Tx, stored: StoredAction, to: Partial<StoredAction>): void {
  tx.put(ACTION, stored.action.action_id, { ...stored, ...to });
}

export function change(tx: Tx, stored: StoredAction, to: Partial<Action>): void {
  tx.put(ACTION, stored.action.action_id, { ...stored, action: { ...stored.action, ...to } });
}

export function isOpen(tx: Tx, action: Action): boolean {
  return (
    isPending(action, tx.now) && action.session_tag !== null && findSession(tx, action.session_tag) !== null
  );
}

/** Whether the action waits to be confirmed and has not expired. */
export function isPending({ state, expires_at }: Action, now: number): boolean {
  return state === 'pending' && (expires_at ?? 0) > now;
}

export function asItIsNow(action: Action, now: number): Action {
  return action.state !== 'pending' || isPending(action, now) ? action : { ...action, state: 'expired' };
}

/** `ActionStore.ofQuestion`, as they are stored. */
export function actionsOfQuestion(tx: Tx, question_id: string): Action[] {
  const alone = tx.get(ACTION, question_id);
  if (alone !== null) return toQuestionId(alone.action) === question_id ? [alone.action] : [];
  const found: Action[] = [];
  for (let number = 1; ; number++) {
    const next = tx.get(ACTION, `${question_id}:${number}`);
    if (next === null) return found;
    found.push(next.action);
  }
}

/** A write that was sent, or was about to be sent, in a session. Its key is the id of its record in the journal. */
interface SessionWrite {
  session_tag: string;
  serial: number;
  /** When its record in the journal is deleted, ms since the epoch. */
  expires_at: number;
}

/** Leads from a session to its writes, newest first. The journal itself is too large to be searched during a run. */
export const SESSION_WRITE: Kind<SessionWrite> = {
  name: 'session_write',
  expires: ({ expires_at }) => expires_at,
  indexes: ({ session_tag, serial }) => [[writesKey(session_tag), -serial]],
  isWide: () => true,
};

function writesKey(session_tag: string): string {
  return `writes of ${session_tag}`;
}

/** Records that a write is about to be sent. No effect if it belongs to no session. */
export function noteWrite(tx: Tx, action_id: string, session_tag: string | null, expires_at: number): void {
  if (session_tag === null) return;
  tx.put(SESSION_WRITE, action_id, { session_tag, serial: tx.serial(), expires_at });
}

/** The ids of the newest writes of a session, newest first. */
export function newestWrites(tx: Tx, session_tag: string, limit: number): string[] {
  return tx.first(SESSION_WRITE, writesKey(session_tag), limit).map(({ key }) => key);
}
