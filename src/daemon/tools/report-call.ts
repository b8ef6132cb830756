import type { ToolAnswer } from '../../agent/index.ts';
import type { ToolStatus } from '../../channel/index.ts';
import { isObject } from '../../channel/json-object.ts';
import { showPages } from './answer.ts';
import { type CallOutcome, refusal } from './call-outcome.ts';
import type { CallRun, ToolProgress, ToolRun } from './perform-call.ts';
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
  work: (within: CallRun) => Promise<CallOutcome>,
): Promise<ToolAnswer> {
  run.limit.throwIfEnded();
  const trace = run.trace.begin('tool');
  const started_at = performance.now();
  const names = { tool_name: tool.name, ...(tool.title === null ? {} : { title: tool.title }) };
  let isStarted = false;
  let credentials: Pick<ToolProgress, 'credentials'> = {};
  const begin = () => {
    if (!isStarted) run.progress({ ...names, status: 'started' });
    isStarted = true;
  };
  const end = (status: ToolStatus, also: Partial<ToolProgress> = {}) => {
    begin();
    run.progress({ ...names, status, ...also });
  };
  const within: CallRun = {
    ...run,
    trace,
    sending: begin,
    choosing(use) {
      credentials = use === null || use === 'none' ? {} : { credentials: use };
    },
  };
  const note = (
    verdict: 'ok' | 'failed',
    { reason, action_id: action, argument }: Omit<CallOutcome, 'answer'>,
  ) =>
    trace.end({
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
    const shown = showPages(await work(within), run);
    const { answer, ...outcome } = await markedAsForeign(tool, shown, run);
    if (outcome.reason !== WAITS)
      end(answer.ok ? 'completed' : 'failed', {
        ...credentials,
        ...(needsSignIn(shown) ? { sign_in_needed: true } : {}),
      });
    note(answer.ok ? 'ok' : 'failed', outcome);
    return answer;
  } catch (err) {
    end('failed');
    note('failed', { reason: run.limit.hasEnded ? 'aborted' : 'tool_broken' });
    run.limit.throwIfEnded();
    run.log.warn({ tool: tool.name, err }, 'tool failed unexpectedly');
    return { ok: false, message: 'The tool failed because of an internal error.' };
  }
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
