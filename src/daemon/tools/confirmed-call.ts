import type { ToolAnswer } from '../../agent/index.ts';
import { unbindParameters } from './bind-parameters.ts';
import { isOffered } from './bind-tools.ts';
import { refusal } from './call-outcome.ts';
import { digestRecord } from './definition-digest.ts';
import { endAttempt, notSent, prepareCall, sendAttempt, type ToolRun } from './perform-call.ts';
import { reportCall } from './report-call.ts';
import { canonicalJson } from './schema/read-arguments.ts';
import type { CompleteCall, Tool, ToolArguments } from './tool.ts';

/** A stored call that the person has confirmed. */
export interface ConfirmedCall {
  action_id: string;
  tool: string;
  /** The digest of its record when the person was asked (`digestRecord`); absent if it is not known. */
  tool_digest?: string | undefined;
  /** All arguments as the person saw them, including the bound ones. */
  args: ToolArguments;
  /** Whether an earlier attempt may have been carried out. */
  again: boolean;
  /**
   * Records that the call is about to be sent, unless an earlier attempt was recorded. Called only if the call is still
   * the one that the person saw. False if the call must not be made. If it rejects, the call is not sent.
   */
  begin(): Promise<boolean>;
}

export type Executed =
  | { outcome: 'made'; answer: ToolAnswer }
  /**
   * Nothing was made: it did not begin (`gone`), or the person's sign-in fills in other arguments than those that the
   * person saw (`changed`). `call`: the call that would be made now; null if none can be made.
   */
  | { outcome: 'gone' | 'changed'; call: CompleteCall | null };

/**
 * Makes a confirmed call with the person's current credentials. The bound arguments are filled in again from them, and
 * the call is made only if all arguments are those that the person saw. Rejects if the begin cannot be recorded, or if
 * the run has ended.
 */
export async function executeConfirmed(
  tools: readonly Tool[],
  { action_id, tool: name, tool_digest, args, again, begin }: ConfirmedCall,
  run: ToolRun,
): Promise<Executed> {
  const write = { action_id, again };
  const tool = tools.find((candidate) => candidate.name === name && isOffered(candidate, run));
  // The record of a call that an earlier process has left may have changed before this process started.
  const isSame = tool && (tool_digest === undefined || digestRecord(tool) === tool_digest);
  if (!isSame) {
    if (!(await begin())) return { outcome: 'gone', call: null };
    const gone = refusal(
      'tool_gone',
      'Nothing was done: the tool no longer exists, or not as it was when the person was asked.',
    );
    return { outcome: 'made', answer: (await endAttempt(gone, write, run)).answer };
  }
  let unmade = null as
    | Exclude<Executed, { outcome: 'made' }>
    | { outcome: 'unrecorded'; error: unknown }
    | null;
  const answer = await reportCall(tool, run, async (within) => {
    const prepared = await prepareCall(tool, unbindParameters(tool, args), within);
    const isPrepared = 'credential' in prepared;
    const call = isPrepared ? { tool, args: prepared.args } : null;
    const isChanged = isPrepared
      ? canonicalJson(prepared.args) !== canonicalJson(args)
      : prepared.reason === 'claim_missing';
    if (isChanged) {
      const changed = refusal(
        'arguments_changed',
        'Nothing was done: the sign-in of the person has changed.',
      );
      // An earlier attempt may have been carried out with the arguments that the person saw.
      if (again) return endAttempt(changed, write, within);
      unmade = { outcome: 'changed', call };
      return changed;
    }
    try {
      if (!(await begin())) {
        unmade = { outcome: 'gone', call };
        return refusal('confirmation_gone', 'Nothing was done: the action is no longer pending.');
      }
    } catch (error) {
      unmade = { outcome: 'unrecorded', error };
      return refusal('not_recorded', 'Nothing was done: it could not be recorded.');
    }
    if (!isPrepared) return endAttempt(prepared, write, within);
    return within.limit.hasEnded ? notSent(write, within) : sendAttempt(prepared, write, within);
  });
  if (unmade?.outcome === 'unrecorded') throw unmade.error;
  if (unmade) return unmade;
  run.record?.({ tool, args: unbindParameters(tool, args), answer });
  return { outcome: 'made', answer };
}
