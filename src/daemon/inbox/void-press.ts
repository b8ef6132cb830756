import { StoreUnavailable } from '../errors.ts';
import type { Services } from '../message/services.ts';
import { turnKey } from '../message/turn-key.ts';
import type { ActionState } from '../store/actions.ts';
import type { InboxMessage } from '../store/inbox.ts';

const SETTLED: readonly ActionState[] = ['started', 'done', 'failed', 'unknown', 'declined'];

/**
 * Whether another message has settled the action of this button since the button was pressed, so that this press has no
 * effect.
 */
export async function isVoidPress(
  { id, message }: Pick<InboxMessage, 'id' | 'message'>,
  { store }: Pick<Services, 'store'>,
): Promise<boolean> {
  if (message?.confirm === undefined) return false;
  const action = await store.actions.find(message.confirm.id).catch((error: unknown) => {
    // The run will also read the store, and fail for the same reason.
    if (error instanceof StoreUnavailable) return null;
    throw error;
  });
  return (
    action !== null &&
    SETTLED.includes(action.state) &&
    action.turn_key !== turnKey({ turn_id: id, key: null })
  );
}
