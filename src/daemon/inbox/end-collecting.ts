import type { Services } from '../message/services.ts';
import type { InboxWorker } from './work.ts';

/**
 * Ends the collecting of the messages that a platform's user has sent so far, because the user does something else, for
 * example signs in: messages from before must not be answered together with messages from after it.
 */
export async function endCollecting(
  { store, settings }: Pick<Services, 'store' | 'settings'>,
  worker: InboxWorker,
  platform: string,
  user_id: string,
): Promise<void> {
  if (settings.COLLECT_MS === 0) return;
  await store.inbox.endCollecting(platform, user_id);
  worker.wake();
}
