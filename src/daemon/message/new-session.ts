import { clientTag } from '../session/client-tag.ts';
import type { Session } from '../session/session.ts';
import type { Services } from './services.ts';
import type { Arrived } from './turn.ts';

/** The session that a message begins. It has no owner, and is not stored yet. */
export function newSession(
  { message, channel, session_id, session_is_generated, address }: Arrived,
  { clock, settings }: Pick<Services, 'clock' | 'settings'>,
): Session {
  const now = clock.now();
  return {
    session_id,
    former_id: null,
    user_id: message.user_id,
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
