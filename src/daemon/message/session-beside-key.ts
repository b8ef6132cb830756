import type { Services } from '../services.ts';
import { generateSessionId } from '../session/ids.ts';
import { idBeside } from '../store/id-beside.ts';
import type { Arrived } from './turn.ts';

/**
 * The session id of a message with an idempotency key. An id that was made for the message is made again until it lies
 * beside the key: each repeat makes an id of its own, and the store must find the first request all the same
 * (`IdempotencyStore.claim`). An id that the message names is the same in each repeat.
 */
export function sessionBesideKey(
  { session_id, session_is_generated, channel, message }: Arrived,
  key: string,
  { store }: Pick<Services, 'store'>,
): string {
  if (!session_is_generated || store.lieTogether(session_id, key)) return session_id;
  return idBeside(store, key, () => generateSessionId(channel.name, message.user_id));
}
