import type { Services } from '../services.ts';
import { textHash } from './equal-text.ts';
import { guardLimits } from './limits.ts';
import { tell } from './tell.ts';
import type { GuardedMessage, GuardVerdict } from './verdict.ts';

type CheckedMessage = GuardedMessage & { session_tag: string; request_id: string };

/**
 * Has a message checked, and logs what the verdict is news of.
 * @param text as it is kept, tokens masked.
 * @param session_id the id that the session has now, for the log; its turns are counted under `session_tag`.
 */
export async function checkMessage(
  { store, settings, log }: Pick<Services, 'store' | 'settings' | 'log'>,
  { request_id, session_id, session_tag, text, ...message }: CheckedMessage,
): Promise<GuardVerdict> {
  const guarded = { ...message, session_id: session_tag, text: textHash(text) };
  const verdict = await store.guard.check(guarded, guardLimits(settings));
  tell(verdict, { ...guarded, session_id }, request_id, log);
  return verdict;
}
