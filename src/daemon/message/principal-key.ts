import type { Principal } from '../identity/identity.ts';

interface Acting {
  principal: Principal;
  channel: { name: string; has_platform: boolean };
  message: { user_id: string };
}

/**
 * Whom a message acts for, as a key: the person, or else the platform's verified user. Null for an anonymous web client.
 * The two kinds are never equal: the key of a person begins with `[`.
 */
export function principalKey({ principal, channel, message }: Acting): string | null {
  if (principal.person !== null) return principal.person;
  return channel.has_platform ? `${channel.name}:${message.user_id}` : null;
}
