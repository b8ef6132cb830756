import type { House } from '../house.ts';
import { textHash } from './equal-text.ts';
import { guardLimits } from './limits.ts';
import { tell } from './tell.ts';
import type { GuardedMessage, GuardVerdict } from './verdict.ts';

/**
 * Has a message checked, and logs what the verdict is news of.
 * @param text as it is kept, tokens masked.
 */
export async function checkMessage(
  { store, settings, log }: Pick<House, 'store' | 'settings' | 'log'>,
  { request_id, text, ...message }: GuardedMessage & { request_id: string },
): Promise<GuardVerdict> {
  const guarded = { ...message, text: textHash(text) };
  const verdict = await store.guard.check(guarded, guardLimits(settings));
  tell(verdict, guarded, request_id, log);
  return verdict;
}
