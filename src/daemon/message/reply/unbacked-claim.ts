import { isBuiltin } from '../../agent/builtin.ts';
import { type Action, SENT_MAX } from '../../store/actions.ts';
import { findClaim } from '../../texts/claims/find-claim.ts';
import { offersWrites } from '../../tools/bind-tools.ts';
import type { Run } from '../run/run.ts';
import type { RunServices } from '../services.ts';
import type { Runnable } from '../turn.ts';

/**
 * Whether the agent says that it has changed something, although nothing was changed: tools that write were offered to
 * the run, but none of them wrote, no call waits for the person, and the journal of this session has no write for this
 * principal that was or may have been carried out.
 * @param said the text of the agent.
 */
export async function isUnbackedClaim(
  said: string,
  turn: Runnable,
  { agent, store, tools }: Pick<RunServices, 'agent' | 'store' | 'tools'>,
  run: Run,
): Promise<boolean> {
  // The builtin agent reports only what tools answer.
  if (isBuiltin(agent)) return false;
  if (run.journal.written.length > 0 || run.calls.hasWritten) return false;
  if (run.desk.kept !== null || turn.still_waits) return false;
  if (!offersWrites(tools.tools(), run.tools) || findClaim(said) === null) return false;
  const sent = await store.actions.sentIn(turn.session_tag);
  const mayBeOlder = sent.length === SENT_MAX;
  return !mayBeOlder && !sent.some((action) => action.state !== 'failed' && isOfPrincipal(action, turn));
}

function isOfPrincipal(action: Action, { principal: { person }, message }: Runnable): boolean {
  if (action.person !== person) return false;
  const { platform, user_id, alias_id = null } = message;
  const isSameUser = action.platform === platform && action.user_id === user_id;
  return person !== null || (isSameUser && action.alias_id === alias_id);
}
