import type { Principal } from '../identity/principal.ts';

/** The parts of a turn that say who it acts for. */
interface Acting {
  principal: Principal;
  channel: { name: string; has_platform: boolean };
  message: { user_id: string };
}

/**
 * Who must confirm the actions of a message: the person whom it acts for, else the platform's verified user. Null: an
 * anonymous web client, of whom nothing is known. The two forms never meet: the key of a person begins with `[`.
 */
export function confirmerOf({ principal, channel, message }: Acting): string | null {
  if (principal.person !== null) return principal.person;
  return channel.has_platform ? `${channel.name}:${message.user_id}` : null;
}
