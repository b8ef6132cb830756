import type { GuardVerdict } from '../../guard/verdict.ts';
import { SEEN_MS } from '../bounds.ts';
import type { Kind, Tx } from '../kernels/kernel.ts';

/** The facts that are recorded about a message of a platform. */
interface SeenFacts {
  verdict: GuardVerdict | null;
  /** The id of the message in the inbox; null if the message was judged but not stored. */
  id: string | null;
  /** The user who wrote the message, so that an erasure finds it. */
  user_id: string | null;
}

export const SEEN: Kind<SeenFacts & { expires_at: number }> = {
  name: 'seen',
  expires: ({ expires_at }) => expires_at,
  isUnshared: true,
};

const NOTHING: SeenFacts = { verdict: null, id: null, user_id: null };

export function seenMessage(tx: Tx, platform: string, message_id: string | null): SeenFacts {
  return (message_id === null ? null : tx.get(SEEN, seenKey(platform, message_id))) ?? NOTHING;
}

/** Remembers the message for another `SEEN_MS`. @param facts replace those that were recorded before */
export function noteSeen(tx: Tx, platform: string, message_id: string | null, facts: SeenFacts): void {
  if (message_id === null) return;
  const { verdict, id, user_id } = facts;
  tx.put(SEEN, seenKey(platform, message_id), { verdict, id, user_id, expires_at: tx.now + SEEN_MS });
}

function seenKey(platform: string, message_id: string): string {
  return JSON.stringify([platform, message_id]);
}
