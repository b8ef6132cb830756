import { aliasChange, ownerOnPlatform, personFrom } from '../identity/identity.ts';
import { clientTag, type Session } from '../session/session.ts';
import { refuseStranger } from './authorize-sender.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type { Arrived, Identified, Locked, Opened } from './turn.ts';

type Uses = Pick<Services, 'clock' | 'settings' | 'channelNames'>;

/**
 * Opens the session that was found, or prepares a new one (agentd-message(7), "Whose session it is").
 *
 * Repeats the check of authorize-sender, because another sender may have begun the session while the message waited. If
 * a private chat on a platform is now linked to a different person, or its user id arrives with the second id of somebody
 * else, its session is replaced, so that the new person does not see the history of the previous one. Adds `session` and
 * `session_origin`. Throws `session_forbidden` if the session belongs to someone else, and does not change it.
 */
export const openSession: Step<Arrived & Identified & Locked, Opened> = {
  name: 'open-session',
  run(turn, services: Uses, line) {
    refuseStranger(turn, turn, services, line);
    const { found } = turn;
    if (found && !isHandedOver(turn, found)) {
      line.reason = 'found';
      const alias_id = aliasOf(turn.message);
      const isNew = alias_id !== null && alias_id !== found.alias_id;
      return { session: isNew ? { ...found, alias_id } : found, session_origin: 'found' };
    }
    line.reason = found ? 'begun_anew' : 'created';
    return { session: newSession(turn, services), session_origin: found ? 'replaced' : 'new' };
  },
};

/** Whether a private chat that belonged to one person now belongs to a different person. */
function isHandedOver(
  { credential, channel, message }: Arrived & Identified,
  { owner, alias_id }: Session,
): boolean {
  if (!channel.has_platform || message.shared) return false;
  const person = personFrom(credential);
  if (person !== null && owner !== null && owner !== person) return true;
  return aliasChange(alias_id ?? null, aliasOf(message)) === 'new_owner';
}

/** The other id of the sender; null if there is none, or if the session has several senders. */
function aliasOf({ platform, user_id, alias_id, shared }: Arrived['message']): string | null {
  return shared ? null : ownerOnPlatform(platform, user_id, alias_id).alias;
}

type Beginning = Pick<Arrived, 'message' | 'channel' | 'session_id' | 'session_is_generated' | 'address'>;

/** The session that a message begins. It has no owner, and is not stored yet. */
export function newSession(
  { message, channel, session_id, session_is_generated, address }: Beginning,
  { clock, settings }: Pick<Uses, 'clock' | 'settings'>,
): Session {
  const now = clock.now();
  const alias_id = aliasOf(message);
  return {
    session_id,
    former_id: null,
    user_id: message.user_id,
    ...(alias_id === null ? {} : { alias_id }),
    platform: message.platform,
    namespace: channel.namespace,
    generated: session_is_generated,
    ...(address === null ? {} : { client: clientTag(address) }),
    owner: null,
    metadata: {},
    credential_owner: null,
    turns: 0,
    created_at: now,
    last_active_at: now,
    expires_at: now + settings.SESSION_TTL_SECONDS * 1000,
  };
}
