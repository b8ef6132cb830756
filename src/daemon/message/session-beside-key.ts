import { generateSessionId } from '../session/ids.ts';
import { idBeside } from '../store/id-beside.ts';
import type { Services } from './services.ts';
import type { Arrived } from './turn.ts';

/**
 * The session id of a message with an idempotency key. An id that the message names is the same in each repeat, and is
 * used as it is. A generated id is different in each repeat. It is therefore generated again until its records are
 * in the same shard as the key, so that the store can find the first request (`IdempotencyStore.claim`).
 */
export function sessionBesideKey(
  { session_id, session_is_generated, channel, message }: Arrived,
  key: string,
  { store }: Pick<Services, 'store'>,
): string {
  if (!session_is_generated || store.lieTogether(session_id, key)) return session_id;
  return idBeside(store, key, () => generateSessionId(channel.name, message.user_id));
}
