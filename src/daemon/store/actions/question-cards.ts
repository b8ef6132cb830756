import {
  cardIndex,
  DUE_CARDS,
  MESSAGE,
  putMessage,
  type StoredMessage,
  storeMessage,
} from '../inbox/inbox-document.ts';
import type { Tx } from '../kernels/kernel.ts';
import { actionsOfQuestion, isPending } from './action-document.ts';
import { type Action, RUNNING_MS, toQuestionId } from './actions.ts';

/*
 * The messages on a platform that show a question with its buttons. Each belongs to the inbox message whose reply ends
 * with the question. When the question was answered or has ended, a text without a run (`NewInboxMessage.closes`) takes
 * the buttons away. It is stored in the step that ends the question, so that any daemon can send it.
 */

/** Maximum number of messages with one question, and of cards that one step closes because they are due. */
const CARDS_MAX = 100;

/**
 * Records under which id the platform knows the message with a question. If the question has been answered since, its
 * buttons are taken away at once.
 * @param id of the inbox message
 */
export function noteCard(tx: Tx, id: string, sent_id: string, actions: readonly Action[]): void {
  const stored = tx.get(MESSAGE, id);
  const [first] = actions;
  if (stored === null || first === undefined) return;
  const isOpen = actions.some((action) => isPending(action, tx.now));
  // An answer in the last moment still has to be carried out.
  const closes_at = isOpen ? (first.expires_at ?? tx.now) : tx.now + RUNNING_MS;
  const card = { question_id: toQuestionId(first), sent_id, closes_at };
  putMessage(tx, { ...stored, message: { ...stored.message, card } });
  // If a run carries out the answer at the moment, its commit takes the buttons away.
  if (!isOpen && !actions.some((action) => isRunning(action, tx.now))) closeCards(tx, card.question_id);
}

/** Takes the buttons away from all messages that show the question. */
export function closeCards(tx: Tx, question_id: string): void {
  for (const { doc } of tx.first(MESSAGE, cardIndex(question_id), CARDS_MAX)) close(tx, doc);
}

/** Takes the buttons away from messages whose question has ended without an answer. */
export function closeDueCards(tx: Tx): void {
  // Usually none is due, and then only one is read.
  const [next] = tx.first(MESSAGE, DUE_CARDS, 1);
  if (!isDue(next?.doc, tx.now)) return;
  for (const { doc } of tx.first(MESSAGE, DUE_CARDS, CARDS_MAX)) {
    const { message } = doc;
    const { card } = message;
    if (card === undefined || !isDue(doc, tx.now)) return;
    const runs = actionsOfQuestion(tx, card.question_id).some((action) => isRunning(action, tx.now));
    if (!runs) close(tx, doc);
    else
      putMessage(tx, { ...doc, message: { ...message, card: { ...card, closes_at: tx.now + RUNNING_MS } } });
  }
}

function isDue(stored: StoredMessage | undefined, now: number): boolean {
  return (stored?.message.card?.closes_at ?? Number.POSITIVE_INFINITY) <= now;
}

function isRunning({ state, answered_at, started_at }: Action, now: number): boolean {
  const isUnderWay = state === 'started' || state === 'confirmed';
  return isUnderWay && (started_at ?? answered_at ?? 0) > now - RUNNING_MS;
}

function close(tx: Tx, stored: StoredMessage): void {
  const { card, ...message } = stored.message;
  if (card === undefined) return;
  const { id: message_id, platform, user_id, reply_to, request_id } = message;
  putMessage(tx, { ...stored, message });
  // The first part keeps the ids of both messages short: neither begins with the other.
  const id = `card_${message_id}`;
  storeMessage(tx, {
    id,
    platform,
    user_id,
    reply_to,
    request_id,
    sent_at: tx.now,
    queue: `${platform}/${id}`,
    session_id: null,
    message_id: null,
    message: null,
    // The text depends on the outcome at the time when it is sent.
    reply: '',
    closes: { message_id, sent_id: card.sent_id },
    is_hint: true,
  });
}
