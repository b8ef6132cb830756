import type { PersonKey } from '../identity/identity.ts';

/**
 * Whose AGENT_DAILY_TOKENS a run uses: a person's, on every channel the same; else those of the platform's verified
 * user, else those of the client address.
 */
export function budgetKey(sender: {
  person: PersonKey | null;
  channel: { name: string; has_platform: boolean };
  user_id: string;
  /** Null: the message came from a platform. */
  address: string | null;
}): string {
  if (sender.person !== null) return sender.person;
  // A person's key is a JSON list, so the three never meet.
  if (sender.channel.has_platform) return `${sender.channel.name}:${sender.user_id}`;
  return `address ${sender.address}`;
}
