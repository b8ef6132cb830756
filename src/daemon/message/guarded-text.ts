import type { IncomingMessage } from '../../channel/index.ts';
import { textHash } from '../guard/equal-text.ts';
import type { Services } from '../services.ts';

type Parts = Pick<Services, 'store' | 'texts'>;

/**
 * The hash of a message's text, by which the loop guard recognizes repetition (agentd-message(7), "Loop guard"). An
 * answer to a question does not count as repetition, so it gets a unique hash.
 * @param turn_id an id that no other message has.
 */
export async function guardedText(
  message: IncomingMessage,
  session_tag: string,
  turn_id: string,
  services: Parts,
): Promise<string> {
  const { text, confirm } = message;
  if (await answersQuestion(message, session_tag, services)) return textHash(`answer ${turn_id}`);
  return textHash(confirm === undefined ? text : `${confirm.id} ${confirm.approve} ${text}`);
}

/**
 * Whether the message answers a question, by a word of any language or by a button. This is a guess, because only the
 * turn decides which question the message answers.
 */
async function answersQuestion(
  { user_id, text, confirm }: IncomingMessage,
  session_tag: string,
  { store, texts }: Parts,
): Promise<boolean> {
  if (!confirm && !texts.isWord('confirm', text) && !texts.isWord('decline', text)) return false;
  const waiting = await store.actions.pendingIn(session_tag);
  return waiting.some(
    (action) => action.user_id === user_id && (!confirm || action.action_id === confirm.id),
  );
}
