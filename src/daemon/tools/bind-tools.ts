import type { ToolStatus } from '../../channel/index.ts';
import type { AgentTool, ToolAnswer } from '../agent/agent.ts';
import { requestContext, withRequestContext } from '../agent/context.ts';
import { endAttempt, sendAttempt, startAttempt } from './attempt.ts';
import { CallCounter } from './call-counter.ts';
import { type CallOutcome, refusal } from './call-outcome.ts';
import { checkRead } from './check-arguments.ts';
import type { CallToConfirm } from './confirmation-desk.ts';
import { prepareCall } from './perform-call.ts';
import { readArguments } from './read-arguments.ts';
import type { Tool, ToolArguments } from './tool.ts';
import type { ToolRun } from './tool-run.ts';

/**
 * Binds the tools to one message. Only this function and `executeConfirmed` make calls, so the policy of calls is
 * enforced here for every source (agentd-agent(7), "Tools"). If a call fails, its answer says why. A call rejects only
 * if the run's signal aborts.
 *
 * Must be called within the request context. The tools keep that context even if a runtime calls them from an event
 * that has a different context or none.
 */
export function bindTools(tools: readonly Tool[], run: ToolRun): AgentTool[] {
  const inContext = keepContext();
  const counter = new CallCounter();
  return tools
    .filter((tool) => isOffered(tool, run))
    .map((tool) => ({
      name: tool.name,
      title: tool.title,
      description: tool.description,
      effect: tool.effect,
      confirm: tool.confirm,
      parameters: tool.parameters,
      call: (given: unknown) =>
        inContext(() => reported(tool, run, (within) => callOnce(tool, given, counter, within))),
    }));
}

/** A stored call that the person has confirmed. */
export interface ConfirmedCall {
  action_id: string;
  tool: string;
  args: ToolArguments;
  /** Whether an earlier attempt may have been carried out. */
  again: boolean;
}

/**
 * Makes a confirmed call with the person's current credentials. Its record in the journal exists already, so only the
 * outcome is recorded here. Must be called within the request context.
 */
export async function executeConfirmed(
  tools: readonly Tool[],
  { action_id, tool: name, args, again }: ConfirmedCall,
  run: ToolRun,
): Promise<ToolAnswer> {
  const write = { action_id, key: action_id, again };
  const tool = tools.find((candidate) => candidate.name === name && isOffered(candidate, run));
  if (!tool) {
    const gone = refusal('tool_gone', 'Nothing was done: the tool no longer exists.');
    return (await endAttempt(gone, write, run)).answer;
  }
  return reported(tool, run, async (within) => {
    const prepared = await prepareCall(tool, args, within);
    return 'credential' in prepared
      ? sendAttempt(prepared, write, within)
      : endAttempt(prepared, write, within);
  });
}

/** Applies the rules of the policy in their order, and makes the call if they allow it. */
async function callOnce(
  tool: Tool,
  given: unknown,
  counter: CallCounter,
  run: ToolRun,
): Promise<CallOutcome> {
  const read = readArguments(given);
  const tooMany = counter.count(tool.name, read.ok ? read.args : read.message);
  if (tooMany) return tooMany;
  if (!read.ok) return refusal('invalid_arguments', read.message);
  const checked = checkRead(tool.parameters, read.args);
  if (!checked.ok) {
    if (checked.too_slow) counter.giveUp(tool.name);
    return refusal('invalid_arguments', checked.message);
  }
  const { args } = checked;
  const prepared = await prepareCall(tool, args, run);
  if (!('credential' in prepared)) return prepared;

  const problem = tool.effect === 'write' ? tool.unusable?.(prepared.args) : null;
  if (problem) return refusal('invalid_arguments', problem);

  const call = { tool, args: prepared.args, given: args };
  const known = isJournaled(tool) && run.journal ? await run.journal.known(call) : null;
  if (known?.state === 'ended') return { answer: known.answer, reason: 'made_before' };
  if (known?.state === 'unknown' && !tool.idempotent) return refusal('outcome_unknown', UNKNOWN);

  const isFurther = known?.state === 'new' && known.further;
  if (known?.state !== 'unknown' && (tool.confirm === 'always' || isFurther))
    return ask({ tool, args, complete: prepared.args }, run);

  if (!run.journal || !known) return sendAttempt(prepared, null, run);
  const write = { ...known.write, again: known.state === 'unknown' };
  const unsent = await startAttempt(run.journal, write, call, run);
  if (unsent !== null) return unsent;
  if (run.signal.aborted) {
    // The run ended while the write was being recorded, so the write is not sent.
    await endAttempt(refusal('aborted', 'Nothing was done: the run has ended.'), write, run);
    run.signal.throwIfAborted();
  }
  return sendAttempt(prepared, write, run);
}

/**
 * Whether the journal records the calls of a tool. A change to the daemon's own data, such as memory, is not an action
 * in the person's name.
 */
function isJournaled({ effect, source }: Tool): boolean {
  return effect === 'write' && source.kind !== 'built-in';
}

const UNKNOWN =
  'The outcome of an earlier attempt at this call is not known, so the call was not repeated. Tell the person.';

async function ask(call: CallToConfirm, run: ToolRun): Promise<CallOutcome> {
  if (!run.confirmation)
    return refusal(
      'cannot_be_confirmed',
      'This was not done: it needs a confirmation, which cannot be asked for here.',
    );
  const asked = await run.confirmation.ask(call);
  if (asked.outcome === 'refused') return refusal(asked.reason, asked.message);
  const message =
    'Not done yet: it waits for the person, who is asked to confirm it at the end of your reply. You cannot confirm it.';
  return {
    answer: { ok: true, result: { waits_for_confirmation: true, message } },
    reason: 'waits_for_confirmation',
  };
}

/**
 * Reports a call to the reader and to the trace. The trace lines that `work` writes become a part of the call's line.
 */
async function reported(
  tool: Tool,
  run: ToolRun,
  work: (within: ToolRun) => Promise<CallOutcome>,
): Promise<ToolAnswer> {
  run.signal.throwIfAborted();
  const part = run.trace.begin('tool');
  const started_at = performance.now();
  const tell = (status: ToolStatus) => run.tool({ tool_name: tool.name, status });
  const note = (verdict: 'ok' | 'failed', reason: string | undefined, action?: string) =>
    part.end({
      verdict,
      ...(reason === undefined ? {} : { reason }),
      detail: { tool: tool.name, ...(action === undefined ? {} : { action }) },
      took_ms: Math.round(performance.now() - started_at),
    });
  tell('started');
  try {
    const { answer, reason, action_id } = await markedAsForeign(tool, await work({ ...run, trace: part }));
    tell(answer.ok ? 'completed' : 'failed');
    note(answer.ok ? 'ok' : 'failed', reason, action_id);
    return answer;
  } catch (err) {
    tell('failed');
    note('failed', run.signal.aborted ? 'aborted' : 'tool_broken');
    run.signal.throwIfAborted();
    run.log.warn({ tool: tool.name, err }, 'tool failed unexpectedly');
    return { ok: false, message: 'The tool failed because of an internal error.' };
  }
}

/**
 * Called before the agent gets a result. If the result comes from another origin, marks the memories of this run, so
 * that later runs get them only if they search for them.
 */
async function markedAsForeign(tool: Tool, outcome: CallOutcome): Promise<CallOutcome> {
  const memory = requestContext()?.memory;
  const hasResult = outcome.written !== undefined || outcome.reason === 'made_before';
  if (!memory || !tool.source.foreign || !hasResult) return outcome;
  try {
    await memory.noteForeignResult();
    return outcome;
  } catch {
    return refusal(
      'memory_unmarked',
      'The call was made, but its result cannot be shown: the memories that you stored before it could not be marked.',
    );
  }
}

function isOffered(tool: Tool, { audience, log }: ToolRun): boolean {
  try {
    return tool.offered?.(audience) ?? true;
  } catch (err) {
    log.warn(
      { tool: tool.name, err },
      'a tool could not report whether it is available, so it is not offered',
    );
    return false;
  }
}

function keepContext(): <T>(work: () => T) => T {
  const context = requestContext();
  return (work) => (context ? withRequestContext(context, work) : work());
}
