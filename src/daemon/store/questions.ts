import { ACTION, change, isPending, pendingOf, type StoredAction } from './action-document.ts';
import type { Action, NewPendingAction, WithdrawnActions } from './actions.ts';
import type { Kernel, Tx } from './kernels/kernel.ts';
import { findSession } from './session-document.ts';

/** Maximum number of pending actions that a step reads. */
const READ_MAX = 1000;

/** Stores the actions that the committed turn asks the person to confirm. They replace an earlier question. */
export function addPending(tx: Tx, added: readonly NewPendingAction[], actionsRetentionMs: number): void {
  const [first] = added;
  if (first === undefined) return;
  for (const stored of pendingIn(tx, first.session_tag))
    if (stored.action.principal === first.principal) withdraw(tx, stored);
  for (const { asked_by, answer_ms, unasked_ms, ...action } of added)
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

function pendingIn(tx: Tx, session_tag: string): StoredAction[] {
  return waiting(tx, `pending in ${session_tag}`);
}

function askedBy(tx: Tx, message_id: string): StoredAction[] {
  return waiting(tx, `asked by ${message_id}`);
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
