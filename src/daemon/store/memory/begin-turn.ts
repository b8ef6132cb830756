import type { BegunTurn } from '../turns.ts';
import { actionsOfTurn, pendingActionsIn } from './actions.ts';
import type { MemoryContext } from './context.ts';
import { findSession } from './sessions.ts';

/** `Store.beginTurn`. */
export function beginTurn(
  context: MemoryContext,
  session_tag: string,
  session_id: string,
  turn_key: string | null,
): BegunTurn | null {
  const owner = context.claims.sessions.take(session_tag);
  if (owner === null) return null;
  const stored = findSession(context, session_id);
  return {
    claim: { session_tag, owner },
    found: stored?.session ?? null,
    pending: pendingActionsIn(context, session_tag),
    earlier: turn_key === null ? [] : actionsOfTurn(context, turn_key),
    turns: stored?.turns ?? [],
  };
}
