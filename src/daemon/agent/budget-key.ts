import type { PersonKey } from '../identity/identity.ts';

/**
 * The owner of the AGENT_DAILY_TOKENS that a run uses: the person, on all channels together; or else the verified user
 * of the platform; or else the client address.
 */
export function budgetKey(sender: {
  person: PersonKey | null;
  channel: { name: string; has_platform: boolean };
  user_id: string;
  /** Null if the message came from a platform. */
  address: string | null;
}): string {
  if (sender.person !== null) return sender.person;
  // A person's key is a JSON list, so the three kinds of keys never collide.
  if (sender.channel.has_platform) return `${sender.channel.name}:${sender.user_id}`;
  return `address ${sender.address}`;
}
