import type { Principal } from '../../identity/identity.ts';

/** The parts of a turn that determine whom it acts for. */
interface Acting {
  principal: Principal;
  channel: { name: string; has_platform: boolean };
  message: { user_id: string };
}

/**
 * Who must confirm the actions of a message: the person whom it acts for, or else the platform's verified user. Null
 * for an anonymous web client. The two kinds of ids are never equal: the key of a person begins with `[`.
 */
export function confirmerOf({ principal, channel, message }: Acting): string | null {
  if (principal.person !== null) return principal.person;
  return channel.has_platform ? `${channel.name}:${message.user_id}` : null;
}
