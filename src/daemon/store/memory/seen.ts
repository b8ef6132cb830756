import { SEEN_MS } from '../bounds.ts';
import type { MemoryContext } from './context.ts';
import type { SeenMessage } from './state.ts';

export type SeenFacts = Pick<SeenMessage, 'verdict' | 'id' | 'user_id'>;

/** The facts that are recorded about a message of a platform: its verdict, its id in the inbox, and its user. */
export function seenMessage(
  { state, clock }: MemoryContext,
  platform: string,
  message_id: string | null,
): SeenFacts {
  const seen = message_id === null ? undefined : state.seen.get(seenKey(platform, message_id));
  return seen && seen.expires_at > clock.now() ? seen : { verdict: null, id: null, user_id: null };
}

/** Remembers the message for another `SEEN_MS`. Facts that were recorded before are kept. */
export function noteSeen(
  context: MemoryContext,
  platform: string,
  message_id: string | null,
  noted: Partial<SeenFacts>,
): void {
  if (message_id === null) return;
  const { verdict, id, user_id } = { ...seenMessage(context, platform, message_id), ...noted };
  const expires_at = context.clock.now() + SEEN_MS;
  context.state.seen.set(seenKey(platform, message_id), { verdict, id, user_id, expires_at });
}

function seenKey(platform: string, message_id: string): string {
  return JSON.stringify([platform, message_id]);
}
