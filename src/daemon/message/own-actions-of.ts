import type { OwnActions } from '../store/actions.ts';
import type { Answering, Resolved } from './turn.ts';

/**
 * The journal that the sender may read: that of the person whom the message acts for, or else the actions of a
 * platform's verified user while not linked. Null if the sender is known only by the client's own claim, or if other
 * people could read the answer.
 */
export function ownActionsOf({
  principal: { person },
  channel,
  message,
}: Pick<Answering & Resolved, 'principal' | 'channel' | 'message'>): OwnActions | null {
  if (message.shared) return null;
  if (person !== null) return { who: { person }, alias_id: null };
  if (!channel.has_platform) return null;
  const { platform, user_id, alias_id = null } = message;
  return { who: { platform, user_id, nobodys: true }, alias_id };
}
