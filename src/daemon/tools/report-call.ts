import type { ToolAnswer } from '../../agent/index.ts';
import type { ToolStatus } from '../../channel/index.ts';
import { isObject } from '../../channel/json-object.ts';
import type { Note, TracePart } from '../trace/trace.ts';
import { showPages } from './answer.ts';
import { type CallOutcome, refusal } from './call-outcome.ts';
import { pickNames, type ToolEnd, type ToolRun } from './perform-call.ts';
import type { Tool } from './tool.ts';

/** The reason in the trace of a call that the person is asked to confirm. */
export const WAITS = 'waits_for_confirmation';

/**
 * Reports a call to the reader and to the trace. The trace lines that `work` writes become a part of the call's line.
 * The reader is told nothing about a call that waits for the person, because the reader would take it for made.
 */
export async function reportCall(
  tool: Tool,
  run: ToolRun,
  work: (within: ToolRun) => Promise<CallOutcome>,
): Promise<ToolAnswer> {
  run.limit.throwIfEnded();
  const part = run.trace.begin('tool');
  const started_at = performance.now();
  let isStarted = false;
  const start = () => {
    if (!isStarted) run.tool({ ...pickNames(tool), status: 'started' });
    isStarted = true;
  };
  const tellEnd = (status: ToolStatus, end: ToolEnd = {}) => {
    start();
    run.tool({ ...pickNames(tool), status, ...end });
  };
  let credentials: ToolEnd = {};
  const trace: TracePart = {
    ...part,
    note(line) {
      credentials = credentialsIn(line) ?? credentials;
      part.note(line);
    },
  };
  const note = (
    verdict: 'ok' | 'failed',
    { reason, action_id: action, argument }: Omit<CallOutcome, 'answer'>,
  ) =>
    part.end({
      verdict,
      ...(reason === undefined ? {} : { reason }),
      detail: {
        tool: tool.name,
        ...(action === undefined ? {} : { action }),
        ...(argument === undefined ? {} : { argument }),
      },
      took_ms: Math.round(performance.now() - started_at),
    });
  try {
    const shown = showPages(await work({ ...run, trace, tool: start }), run);
    const { answer, ...outcome } = await markedAsForeign(tool, shown, run);
    if (outcome.reason !== WAITS)
      tellEnd(answer.ok ? 'completed' : 'failed', {
        ...credentials,
        ...(needsSignIn(shown) ? { sign_in_needed: true } : {}),
      });
    note(answer.ok ? 'ok' : 'failed', outcome);
    return answer;
  } catch (err) {
    tellEnd('failed');
    note('failed', { reason: run.limit.hasEnded ? 'aborted' : 'tool_broken' });
    run.limit.throwIfEnded();
    run.log.warn({ tool: tool.name, err }, 'tool failed unexpectedly');
    return { ok: false, message: 'The tool failed because of an internal error.' };
  }
}

/** The credentials that a line of the trace names. Null if it names none. */
function credentialsIn({ step, verdict, detail }: Note): ToolEnd | null {
  if (step !== 'credentials') return null;
  const used = verdict === 'refused' ? undefined : detail?.credentials;
  return used === 'user' || used === 'default' || used === 'exchange' ? { credentials: used } : {};
}

function needsSignIn({ answer, reason, sign_in_needed }: CallOutcome): boolean {
  if (sign_in_needed || reason === 'sign_in_needed') return true;
  return answer.ok && isObject(answer.result) && answer.result.sign_in_needed === true;
}

/**
 * Called before the agent gets a result. If the result comes from another origin, marks the run and its memories.
 */
async function markedAsForeign(tool: Tool, outcome: CallOutcome, { context }: ToolRun): Promise<CallOutcome> {
  const taint = context?.taint;
  const hasResult = outcome.written !== undefined || outcome.reason === 'made_before';
  if (!taint || !tool.source.foreign || !hasResult) return outcome;
  try {
    await taint.mark();
    return outcome;
  } catch {
    return refusal(
      'memory_unmarked',
      'The call was made, but its result cannot be shown: the memories that you stored before it could not be marked.',
    );
  }
}
