import type { PersonKey } from '../../identity/identity.ts';
import type { NewInboxMessage, Rerun, SignInHinted } from '../inbox/inbox.ts';
import { MESSAGE, putMessage, storeMessage } from '../inbox/inbox-document.ts';
import { seenMessage } from '../inbox/seen.ts';
import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { findSession } from '../sessions/session-document.ts';
import { stepsOf } from '../steps-of.ts';
import type { StoredLink } from './links.ts';

/**
 * Questions that wait until their sender signs in (agentd-identity(7), "The question waits"). A question is stored with
 * the turn in which a tool said that sign-in is needed (`TurnChanges.waits`), at most one for each user of a platform.
 * The commit that links the user also takes the question and queues its second run.
 */
export interface WaitingQuestionStore {
  /** The question of the turn with this id; null if it does not wait, or no longer. */
  ofTurn(turn_id: string): Promise<WaitingQuestion | null>;
  /**
   * Ends the question of a user that was asked with this message, which the user has deleted. If the message is not done
   * yet, no question is stored for it later.
   */
  forget(link_keys: readonly string[], message: { platform: string; message_id: string }): Promise<void>;
}

export interface WaitingQuestion {
  /** The key under which the link of the sender would be stored. */
  link_key: string;
  /** When it ends, ms since the epoch. */
  expires_at: number;
  /** The second run, as the inbox will get it. */
  message: NewInboxMessage & { rerun: Omit<Rerun, 'person'>; session_id: string };
}

/** A question to store with its turn. */
export type NewWaitingQuestion = Omit<WaitingQuestion, 'expires_at'> & {
  ttl_ms: number;
  /** When the run of the turn began, by the store's clock, if it acted for nobody; otherwise null. */
  unlinked_at: number | null;
};

interface StoredWaitingQuestion extends WaitingQuestion, Pick<NewWaitingQuestion, 'unlinked_at'> {
  session_tag: string;
  /** Whether it was asked in a group. It is not run again there, so it must first be moved (`moveQuestion`). */
  in_group: boolean;
  is_moved: boolean;
  /** When the session of the turn was created, so that a later session with its id is not taken for it. */
  session_created_at: number;
}

export const WAITING_QUESTION: Kind<StoredWaitingQuestion> = {
  name: 'waiting_question',
  expires: ({ expires_at }) => expires_at,
  indexes: ({ message }) => [[`turn ${message.rerun.turn_id}`, 0]],
};

export function waitingQuestionStore(kernel: Kernel): WaitingQuestionStore {
  const step = stepsOf(kernel);
  return {
    ofTurn: step((tx, turn_id) => {
      const [found] = tx.first(WAITING_QUESTION, `turn ${turn_id}`, 1);
      if (found === undefined) return null;
      const { link_key, expires_at, message } = found.doc;
      return { link_key, expires_at, message };
    }),
    forget: step((tx, link_keys, { platform, message_id }) => {
      for (const key of link_keys)
        if (tx.get(WAITING_QUESTION, key)?.message.rerun.message_id === message_id) endQuestion(tx, key);
      const { id } = seenMessage(tx, platform, message_id);
      const stored = id === null ? null : tx.get(MESSAGE, id);
      if (stored?.message.ended_at === null) putMessage(tx, { ...stored, deleted_by: link_keys });
    }),
  };
}

/**
 * Stores the question of a turn, unless its message was deleted meanwhile. A question of the same user that was asked
 * later is kept instead.
 */
export function keepQuestion(
  tx: Tx,
  { link_key, message, ttl_ms, unlinked_at }: NewWaitingQuestion,
  session_tag: string,
): void {
  const session = findSession(tx, session_tag)?.session;
  const other = tx.get(WAITING_QUESTION, link_key);
  const deleted_by = tx.get(MESSAGE, message.rerun.turn_id)?.deleted_by ?? [];
  const isOlder = other !== null && other.message.rerun.received_at > message.rerun.received_at;
  if (session === undefined || isOlder || deleted_by.includes(link_key)) return;
  tx.put(WAITING_QUESTION, link_key, {
    link_key,
    message,
    unlinked_at,
    session_tag,
    session_created_at: session.created_at,
    in_group: message.message?.shared === true,
    is_moved: false,
    expires_at: tx.now + ttl_ms,
  });
}

export function endQuestion(tx: Tx, link_key: string): void {
  if (tx.get(WAITING_QUESTION, link_key) !== null) tx.delete(WAITING_QUESTION, link_key);
}

/** Ends the question of a turn, because its message was deleted. */
export function endTurnQuestion(tx: Tx, turn_id: string): void {
  for (const { key } of tx.first(WAITING_QUESTION, `turn ${turn_id}`, 1)) tx.delete(WAITING_QUESTION, key);
}

/**
 * Moves the second run of a question from a group to the private chat of its sender. Null: ends the question.
 * @returns the key of its sender's link; null if the question does not wait
 */
export function moveQuestion(tx: Tx, turn_id: string, to: SignInHinted['private_run']): string | null {
  const [found] = tx.first(WAITING_QUESTION, `turn ${turn_id}`, 1);
  if (found === undefined) return null;
  const { key, doc } = found;
  const { message: question } = doc;
  if (to === null || question.message === null) {
    tx.delete(WAITING_QUESTION, key);
    return null;
  }
  const { channel_id, ...own } = to;
  const message = { ...question.message, shared: false, thread_id: to.session_id, channel_id };
  tx.put(WAITING_QUESTION, key, { ...doc, is_moved: true, message: { ...question, ...own, message } });
  return key;
}

/** Takes the question of a user who was linked while its run was going on, which did not know of the link. */
export function answerLinked(tx: Tx, { key, person, how, made_at }: StoredLink): void {
  const question = tx.get(WAITING_QUESTION, key);
  const { unlinked_at = null, in_group = false, is_moved = false } = question ?? {};
  if (unlinked_at === null || made_at === null || made_at < unlinked_at) return;
  if (!in_group || is_moved) answerQuestion(tx, { key, person, by_operator: how === 'operator' }, null);
}

/**
 * Takes the question of a user who has just been linked, and queues its second run, which may act for this person only.
 * The question ends without a run if an operator made the link, if its session has ended, or if the user was linked to
 * another person before: then somebody else may have asked it.
 * @param before the person to whom the user was linked before; null if there is none
 */
export function answerQuestion(
  tx: Tx,
  { key, person, by_operator }: { key: string; person: PersonKey; by_operator: boolean },
  before: PersonKey | null,
): void {
  const question = tx.get(WAITING_QUESTION, key);
  if (question === null) return;
  tx.delete(WAITING_QUESTION, key);
  const session = findSession(tx, question.session_tag)?.session;
  const isOver = session === undefined || session.created_at !== question.session_created_at;
  const { message } = question;
  const owner = question.in_group ? null : (session?.owner ?? null);
  const isOthers = [before, owner].some((one) => one !== null && one !== '' && one !== person);
  if (by_operator || isOver || isOthers || (question.in_group && !question.is_moved)) return;
  storeMessage(tx, { ...message, rerun: { ...message.rerun, person } });
}
