import { sessionTag } from '../../session/session.ts';
import type { Kernel, Tx } from '../kernels/kernel.ts';
import { findSession } from '../sessions/session-document.ts';
import {
  ACTION,
  askedBy,
  change,
  isPending,
  noteWrite,
  pendingFor,
  pendingIn,
  pendingOf,
  put,
  type StoredAction,
} from './action-document.ts';
import {
  type Action,
  type NewPendingAction,
  type ReplyToAsked,
  toQuestionId,
  type WithdrawnActions,
} from './actions.ts';
import { closeCards } from './question-cards.ts';

/** Maximum number of pending actions that a step reads. */
const READ_MAX = 1000;

/** Maximum number of replies that a question remembers. Those before them are long past. */
const SEEN_MAX = 20;

/**
 * Stores the actions that the committed turn asks the person to confirm. They replace an earlier question to the same
 * person.
 */
export function addPending(tx: Tx, added: readonly NewPendingAction[], actionsRetentionMs: number): void {
  const [first] = added;
  if (first === undefined) return;
  for (const stored of listWaiting(tx, pendingIn(first.session_tag)))
    if (stored.action.principal === first.principal) withdraw(tx, stored);
  for (const { asked_by, answer_ms, unasked_ms, ...action } of added)
    tx.put(ACTION, action.action_id, {
      action: {
        ...action,
        state: 'pending',
        attempt: 0,
        status: null,
        answer: null,
        created_at: tx.now,
        ...(asked_by === null
          ? { asked_at: tx.now, seen_replies: [{ at: tx.now, asks: true }], expires_at: tx.now + answer_ms }
          : { asked_at: null, expires_at: tx.now + unasked_ms }),
        started_at: null,
        finished_at: null,
      },
      ...(asked_by === null ? {} : { unsent_replies: [{ message_id: asked_by, asks: true }] }),
      answer_ms,
      serial: tx.serial(),
      expires_at: tx.now + actionsRetentionMs,
    });
}

/**
 * Records for the pending actions of a session what the committed reply says about their question. From then on, an
 * expired question to the same person is no longer the end of the newest reply.
 */
export function noteReply(tx: Tx, session_tag: string, reply: ReplyToAsked): void {
  for (const stored of readIndex(tx, pendingIn(session_tag))) {
    if (stored.action.principal !== reply.principal) continue;
    const question_id = toQuestionId(stored.action);
    if (!isPending(stored.action, tx.now)) expire(tx, stored);
    else if (question_id === reply.withdraws) withdraw(tx, stored);
    else noteOpen(tx, stored, reply, question_id === reply.repeats?.question_id);
  }
}

function noteOpen(tx: Tx, stored: StoredAction, { sent_by, repeats }: ReplyToAsked, asks: boolean): void {
  const { unsent_replies = [] } = stored;
  const counted = asks && repeats?.counts === true ? { repeats: (stored.action.repeats ?? 0) + 1 } : {};
  if (sent_by === null) change(tx, stored, { ...counted, ...addSeenReply(tx, stored, asks) });
  else
    put(tx, stored, {
      action: { ...stored.action, ...counted },
      unsent_replies: [...unsent_replies, { message_id: sent_by, asks }],
    });
}

/** Records that the reply of this inbox message was sent, and with it the question at its end, if it has one. */
export function noteAsked(tx: Tx, message_id: string): void {
  for (const stored of listWaiting(tx, askedBy(message_id))) {
    const { action, unsent_replies = [] } = stored;
    const asks = unsent_replies.some((one) => one.asks && one.message_id === message_id);
    const isFirst = asks && action.asked_at === null;
    put(tx, stored, {
      action: {
        ...action,
        ...addSeenReply(tx, stored, asks),
        ...(isFirst ? { asked_at: tx.now, expires_at: tx.now + stored.answer_ms } : {}),
      },
      unsent_replies: unsent_replies.filter((one) => one.message_id !== message_id),
    });
  }
}

/** Records that a person got a text in place of a reply, which asks nothing. */
export function noteNotice(tx: Tx, session_id: string, user_id: string): void {
  const found = findSession(tx, session_id);
  if (found === null) return;
  for (const stored of listWaiting(tx, pendingIn(sessionTag(found.session))))
    if (stored.action.user_id === user_id) change(tx, stored, addSeenReply(tx, stored, false));
}

/**
 * Records that the reply of this message will not be sent. Withdraws the actions whose question was in no other reply.
 */
export function dropUnasked(tx: Tx, message_id: string): void {
  for (const stored of listWaiting(tx, askedBy(message_id))) {
    const unsent_replies = (stored.unsent_replies ?? []).filter((one) => one.message_id !== message_id);
    const isAskedElsewhere = stored.action.asked_at !== null || unsent_replies.some(({ asks }) => asks);
    if (isAskedElsewhere) put(tx, stored, { unsent_replies });
    else withdraw(tx, stored);
  }
}

/** The replies after one more has left. */
function addSeenReply(tx: Tx, { action }: StoredAction, asks: boolean): Pick<Action, 'seen_replies'> {
  const { seen_replies: before = [] } = action;
  if (before.at(-1)?.asks === asks) return {};
  return { seen_replies: [...before, { at: tx.now, asks }].slice(-SEEN_MAX) };
}

/** `ActionStore.withdraw`. */
export function withdrawActions(tx: Tx, of: WithdrawnActions): void {
  for (const stored of meantBy(tx, of)) withdraw(tx, stored);
}

/**
 * Ends the actions of a restored store that were not sent when its backup was made: they may have been confirmed and sent
 * since. Withdraws those that were pending. Of those that were confirmed, the outcome is not known.
 */
export async function endUnsent(kernel: Kernel): Promise<void> {
  for await (const { key, doc } of kernel.scan(ACTION)) {
    if (doc.action.state !== 'pending' && doc.action.state !== 'confirmed') continue;
    await kernel.step((tx) => {
      const stored = tx.get(ACTION, key);
      if (stored?.action.state === 'pending') withdraw(tx, stored);
      else if (stored?.action.state === 'confirmed') {
        const now = tx.now;
        change(tx, stored, { state: 'unknown', attempt: 1, started_at: now, finished_at: now });
        noteWrite(tx, key, stored.action.session_tag, stored.expires_at);
      }
    });
  }
}

/** The pending actions of a person in every tenant. @param person `byPerson` */
export function pendingActionsFor(tx: Tx, person: string): Action[] {
  return listWaiting(tx, pendingFor(person)).map(({ action }) => action);
}

/** The actions of a session whose question has expired, and is still the end of the newest reply to its person. */
export function lapsedActionsIn(tx: Tx, session_tag: string): Action[] {
  return readIndex(tx, pendingIn(session_tag))
    .map(({ action }) => action)
    .filter((action) => !isPending(action, tx.now));
}

/** `ActionStore.pendingIn`. */
export function pendingActionsIn(tx: Tx, session_tag: string): Action[] {
  const found = listWaiting(tx, pendingIn(session_tag)).map(({ action }) => action);
  return found.length > 0 && findSession(tx, session_tag) !== null ? found : [];
}

/** The actions of an index of pending ones that have not expired. */
function listWaiting(tx: Tx, index: string): StoredAction[] {
  return readIndex(tx, index).filter(({ action }) => isPending(action, tx.now));
}

function readIndex(tx: Tx, index: string): StoredAction[] {
  return tx.first(ACTION, index, READ_MAX).map(({ doc }) => doc);
}

function expire(tx: Tx, stored: StoredAction): void {
  change(tx, stored, { state: 'expired', finished_at: stored.action.expires_at });
  closeCards(tx, toQuestionId(stored.action));
}

function meantBy(tx: Tx, of: WithdrawnActions): StoredAction[] {
  if ('action_id' in of) {
    const stored = tx.get(ACTION, of.action_id);
    return stored !== null && isPending(stored.action, tx.now) ? [stored] : [];
  }
  if ('session_tag' in of)
    return listWaiting(tx, pendingIn(of.session_tag)).filter(
      ({ action: { person } }) => of.of === undefined || person === of.of,
    );
  return listWaiting(tx, pendingOf(of.platform, of.user_id)).filter(
    ({ action: { person } }) => person === null || person !== of.keep,
  );
}

function withdraw(tx: Tx, stored: StoredAction): void {
  change(tx, stored, { state: 'withdrawn', finished_at: tx.now });
  closeCards(tx, toQuestionId(stored.action));
}
