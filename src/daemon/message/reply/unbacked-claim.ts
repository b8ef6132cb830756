import { isBuiltin } from '../../agent/builtin.ts';
import { type Action, SENT_MAX } from '../../store/actions/actions.ts';
import { findClaim } from '../../texts/claims/find-claim.ts';
import { offersWrites } from '../../tools/bind-tools.ts';
import type { Run } from '../run/run.ts';
import type { RunServices } from '../services.ts';
import type { Runnable } from '../turn.ts';

/**
 * Whether the agent says that it has changed something, although this run changed nothing: tools that write were offered
 * to the run, but none of them wrote, and no call waits for the person. The claim is unbacked unless `hasWritten`.
 * @param said the text of the agent.
 */
export function mayBeUnbacked(
  said: string,
  turn: Runnable,
  { agent, tools }: Pick<RunServices, 'agent' | 'tools'>,
  run: Run,
): boolean {
  // The builtin agent reports only what tools answer.
  if (isBuiltin(agent)) return false;
  if (run.journal.written.length > 0 || run.calls.hasWritten) return false;
  if (run.desk.hasCalls || turn.open !== null) return false;
  return offersWrites(tools.tools(), run.tools) && findClaim(said) !== null;
}

/** Whether the journal of this session has a write for this principal that was or may have been carried out. */
export async function hasWritten(turn: Runnable, { store }: Pick<RunServices, 'store'>): Promise<boolean> {
  const sent = await store.actions.sentIn(turn.session_tag);
  const mayBeOlder = sent.length === SENT_MAX;
  return mayBeOlder || sent.some((action) => action.state !== 'failed' && isOfPrincipal(action, turn));
}

function isOfPrincipal(action: Action, { principal: { person }, message }: Runnable): boolean {
  if (action.person !== person) return false;
  const { platform, user_id, alias_id = null } = message;
  const isSameUser = action.platform === platform && action.user_id === user_id;
  return person !== null || (isSameUser && action.alias_id === alias_id);
}
