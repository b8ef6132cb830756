import type { IncomingMessage } from '../../channel/index.ts';
import { textHash } from '../guard/equal-text.ts';
import type { Services } from './services.ts';

type Parts = Pick<Services, 'store' | 'texts'>;

/**
 * The hash of a message's text, by which the loop guard recognizes repetition (agentd-message(7), "Loop guard"). Null
 * for a message that counts for nothing: the press of a button, even of a question that is no longer open, and a word
 * that answers a question.
 */
export async function guardedText(
  message: IncomingMessage,
  session_tag: string,
  services: Parts,
): Promise<string | null> {
  if (message.confirm !== undefined || (await answersQuestion(message, session_tag, services))) return null;
  return textHash(message.text);
}

/**
 * Whether the message answers a question by a word of any language. This is a guess, because only the turn decides
 * which question the message answers.
 */
async function answersQuestion(
  { user_id, text }: IncomingMessage,
  session_tag: string,
  { store, texts }: Parts,
): Promise<boolean> {
  if (!texts.isWord('confirm', text) && !texts.isWord('decline', text)) return false;
  const waiting = await store.actions.pendingIn(session_tag);
  return waiting.some((action) => action.user_id === user_id);
}
