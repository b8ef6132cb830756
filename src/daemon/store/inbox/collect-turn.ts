import { isLonger, TEXT_MAX } from '../../../channel/characters.ts';
import type { Tx } from '../kernels/kernel.ts';
import { type InboxMessage, TURN_MESSAGES_MAX } from './inbox.ts';
import { following, putMessage, type StoredMessage } from './inbox-document.ts';

/**
 * Fixes the turn of a message whose run begins (agentd-message(7), "Collected messages").
 * @returns the ids of the further messages, in order.
 */
export function collectTurn(tx: Tx, first: StoredMessage): readonly string[] {
  const others = furtherMessages(tx, first);
  const { id: turn_id } = first.message;
  for (const other of others) putMessage(tx, { ...other, message: { ...other.message, turn_id } });
  const collected = others.map(({ message }) => message.id);
  putMessage(tx, { ...first, message: { ...first.message, collected } });
  return collected;
}

function furtherMessages(tx: Tx, first: StoredMessage): StoredMessage[] {
  const found: StoredMessage[] = [];
  for (const next of following(tx, first, TURN_MESSAGES_MAX - 1)) {
    const messages = [first, ...found, next].map(({ message }) => message);
    const isOver = next.after !== first.after || isLonger(textOfTurn(messages), TEXT_MAX);
    if (isOver || !areOfOneSender(first.message, next.message)) break;
    found.push(next);
  }
  return found;
}

/** The text of a turn: the texts of its messages, in order, on lines of their own. */
export function textOfTurn(messages: readonly Pick<InboxMessage, 'message'>[]): string {
  return messages.map(({ message }) => message?.text ?? '').join('\n');
}

/**
 * Whether the next message may be part of the same turn. Both ids of the sender must be equal: a platform may have given
 * the user id to somebody else in between.
 */
function areOfOneSender(first: InboxMessage, next: InboxMessage): boolean {
  const { message: one } = first;
  const { message: other } = next;
  if (one === null || other === null) return false;
  return (
    next.collects !== undefined &&
    next.state === 'waiting' &&
    next.platform === first.platform &&
    one.user_id === other.user_id &&
    one.alias_id === other.alias_id &&
    (one.shared ?? false) === (other.shared ?? false)
  );
}
