import type { IncomingMessage } from '../../channel/index.ts';
import { toQuestionId } from '../store/actions/actions.ts';
import type { Services } from './services.ts';

/**
 * The id of the question that the message answers, by a button or by a word of any language; null if there is none. For a
 * word, this is a guess, because only the turn decides which question the message answers.
 */
export async function findAnsweredQuestion(
  { user_id, text, confirm }: IncomingMessage,
  session_tag: string,
  { store, texts }: Pick<Services, 'store' | 'texts'>,
): Promise<string | null> {
  if (confirm !== undefined) return confirm.id;
  if (!texts.isAnswer(text)) return null;
  const waiting = await store.actions.pendingIn(session_tag);
  const last = waiting.findLast((action) => action.user_id === user_id);
  return last === undefined ? null : toQuestionId(last);
}
