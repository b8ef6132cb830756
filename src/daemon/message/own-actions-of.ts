import type { OwnActions } from '../store/actions.ts';
import type { Answering, Resolved } from './turn.ts';

/**
 * Whose journal the sender may read: the person's whom the message acts for, else what was done for a platform's verified
 * user as nobody. Null: the client itself says who it is, or other people would read it.
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
