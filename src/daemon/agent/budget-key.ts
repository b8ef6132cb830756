import type { PersonKey } from '../identity/identity.ts';

/**
 * The key of the budget (AGENT_DAILY_TOKENS) that a run uses. A known person has one budget for all channels. Otherwise
 * the budget belongs to the verified user of the platform, or to the client address.
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
