import type { OwnActions } from '../store/actions.ts';
import type { Answering, Resolved } from './turn.ts';

/**
 * The actions in the journal that the sender may read: the actions of the person for whom the message acts. Without a
 * person, the actions that a platform's verified user caused while not linked. Null if the sender's identity is only
 * claimed by the client, or if other people can read the answer.
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
