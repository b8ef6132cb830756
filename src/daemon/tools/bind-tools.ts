import type { AgentTool, ToolAnswer } from '../../agent/index.ts';
import type { ToolStatus } from '../../channel/index.ts';
import { isObject } from '../../channel/json-object.ts';
import type { Note, TracePart } from '../trace/trace.ts';
import { showPages } from './answer.ts';
import { unbindParameters } from './bind-parameters.ts';
import { type CallOutcome, invalidArguments, type Refusal, refusal } from './call-outcome.ts';
import { holds } from './confirmation/confirm-policy.ts';
import {
  type Attempt,
  endAttempt,
  pickNames,
  prepareCall,
  sendAttempt,
  startAttempt,
  type ToolEnd,
  type ToolRun,
} from './perform-call.ts';
import { checkRead } from './schema/check-arguments.ts';
import { canonicalJson, readArguments } from './schema/read-arguments.ts';
import type { CompleteCall, Tool, ToolArguments } from './tool.ts';

/**
 * Binds the tools to one message. Only this function and `executeConfirmed` make calls, so the policy of calls is
 * enforced here for every source (agentd-agent(7), "Tools"). If a call fails, its answer says why. A call rejects only
 * if the run has ended.
 */
export function bindTools(tools: readonly Tool[], run: ToolRun): AgentTool[] {
  const counter = new CallCounter();
  return tools
    .filter((tool) => isOffered(tool, run))
    .map((tool) => ({
      name: tool.name,
      title: tool.title,
      description: tool.description,
      effect: tool.effect,
      confirm: typeof tool.confirm === 'string' ? tool.confirm : 'when',
      parameters: tool.parameters,
      call: async (given: unknown) => {
        const answer = await reported(tool, run, (within) => callOnce(tool, given, counter, within));
        run.record?.({ tool, args: given, answer });
        return answer;
      },
    }));
}

/** A stored call that the person has confirmed. */
export interface ConfirmedCall {
  action_id: string;
  tool: string;
  /** All arguments as the person saw them, including the bound ones. */
  args: ToolArguments;
  /** Whether an earlier attempt may have been carried out. */
  again: boolean;
  /**
   * Records that the call is about to be sent, unless an earlier attempt was recorded. Called only if the call is still
   * the one that the person saw. False if the action is no longer pending. If it rejects, the call is not sent.
   */
  begin(): Promise<boolean>;
}

export type Executed =
  | { outcome: 'made'; answer: ToolAnswer }
  /** The action is no longer pending. Nothing was made. */
  | { outcome: 'gone' }
  /**
   * The person's sign-in fills in other arguments than those that the person saw. Nothing was made. `call`: the call
   * that would be made now; null if a claim is missing.
   */
  | { outcome: 'changed'; call: CompleteCall | null };

/**
 * Makes a confirmed call with the person's current credentials. The bound arguments are filled in again from them, and
 * the call is made only if all arguments are those that the person saw. Rejects if the begin cannot be recorded, or if
 * the run has ended.
 */
export async function executeConfirmed(
  tools: readonly Tool[],
  { action_id, tool: name, args, again, begin }: ConfirmedCall,
  run: ToolRun,
): Promise<Executed> {
  const write = { action_id, key: action_id, again };
  const tool = tools.find((candidate) => candidate.name === name && isOffered(candidate, run));
  if (!tool) {
    if (!(await begin())) return { outcome: 'gone' };
    const gone = refusal('tool_gone', 'Nothing was done: the tool no longer exists.');
    return { outcome: 'made', answer: (await endAttempt(gone, write, run)).answer };
  }
  const unmade: (Exclude<Executed, { outcome: 'made' }> | { outcome: 'unrecorded'; error: unknown })[] = [];
  const answer = await reported(tool, run, async (within) => {
    const prepared = await prepareCall(tool, unbindParameters(tool, args), within);
    const isPrepared = 'credential' in prepared;
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
      unmade.push({ outcome: 'changed', call: isPrepared ? { tool, args: prepared.args } : null });
      return changed;
    }
    try {
      if (!(await begin())) {
        unmade.push({ outcome: 'gone' });
        return refusal('confirmation_gone', 'Nothing was done: the action is no longer pending.');
      }
    } catch (error) {
      unmade.push({ outcome: 'unrecorded', error });
      return refusal('not_recorded', 'Nothing was done: it could not be recorded.');
    }
    if (!isPrepared) return endAttempt(prepared, write, within);
    return within.limit.hasEnded ? notSent(write, within) : sendAttempt(prepared, write, within);
  });
  const [notMade] = unmade;
  if (notMade?.outcome === 'unrecorded') throw notMade.error;
  if (notMade) return notMade;
  run.record?.({ tool, args: unbindParameters(tool, args), answer });
  return { outcome: 'made', answer };
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
  if (!read.ok) return invalidArguments(read.message);
  const checked = checkRead(tool.parameters, read.args);
  if (!checked.ok) {
    if (checked.too_slow) counter.giveUp(tool.name);
    return invalidArguments(checked.message);
  }
  const prepared = await prepareCall(tool, checked.args, run);
  if (!('credential' in prepared)) return prepared;

  const problem = tool.effect === 'write' ? tool.unusable?.(prepared.args) : null;
  if (problem) return invalidArguments(problem);

  const call = { tool, args: prepared.args };
  const known = isJournaled(tool) && run.journal ? await run.journal.known(call) : null;
  if (known?.state === 'ended') return { answer: known.answer, reason: 'made_before' };
  if (known?.state === 'unknown' && !tool.idempotent) return refusal('outcome_unknown', UNKNOWN);

  const isFurther = known?.state === 'new' && known.further;
  if (known?.state !== 'unknown' && (isFurther || (await mustAsk(call, counter, run)))) return ask(call, run);

  if (!run.journal || !known) return sendAttempt(prepared, null, run);
  const write = { ...known.write, again: known.state === 'unknown' };
  const unsent = await startAttempt(run.journal, write, call, run);
  if (unsent !== null) return unsent;
  if (run.limit.hasEnded) {
    await notSent(write, run);
    run.limit.throwIfEnded();
  }
  return sendAttempt(prepared, write, run);
}

/** The outcome of a write that is not sent, because the run ended while the write was being recorded. */
function notSent(write: Attempt, run: ToolRun): Promise<CallOutcome> {
  return endAttempt(refusal('aborted', 'Nothing was done: the run has ended.'), write, run);
}

/**
 * Whether the person must confirm a call. If that depends on its arguments, each further write within a short time needs
 * a confirmation, so that nobody splits an amount into several calls.
 */
async function mustAsk(
  { tool, args }: CompleteCall,
  counter: CallCounter,
  { journal }: ToolRun,
): Promise<boolean> {
  const { confirm, name } = tool;
  if (typeof confirm === 'string') return confirm === 'always';
  if (holds(confirm, args) || (await journal?.wroteLately(name))) return true;
  // Several calls may be made at the same time. Only the first of them may go on.
  return counter.letThrough(name) === 'further';
}

/** Whether the daemon may have to ask about a call of the tool, or to report it, at the end of a reply. */
export function mayNeedReport(tool: Tool): boolean {
  return tool.confirm !== 'never' || isJournaled(tool);
}

/** Whether a run is offered a tool whose calls the journal records. */
export function offersWrites(tools: readonly Tool[], run: ToolRun): boolean {
  return tools.some((tool) => isJournaled(tool) && isOffered(tool, run));
}

/**
 * Whether the journal records the calls of a tool. A change to the daemon's own data, such as memory, is not an action
 * in the person's name.
 */
function isJournaled({ effect, source }: Tool): boolean {
  return effect === 'write' && source.kind !== 'built-in';
}

/** The reason in the trace of a call that the person is asked to confirm. */
const WAITS = 'waits_for_confirmation';

const REPLACES =
  'The question that was still open is withdrawn. Call its actions again if the person still wants them.';

const UNKNOWN =
  'The outcome of an earlier attempt at this call is not known, so the call was not repeated. Tell the person.';

async function ask(call: CompleteCall, run: ToolRun): Promise<CallOutcome> {
  if (!run.confirmation)
    return refusal(
      'cannot_be_confirmed',
      'This was not done: it needs a confirmation, which cannot be asked for here.',
    );
  const asked = await run.confirmation.ask(call);
  if (asked.outcome === 'refused') return refusal(asked.reason, asked.message);
  const waits =
    'Not done yet: it waits for the person, who is asked to confirm it at the end of your reply. You cannot confirm it.';
  const message = asked.replaces ? `${waits} ${REPLACES}` : waits;
  return {
    answer: { ok: true, result: { waits_for_confirmation: true, message } },
    reason: WAITS,
  };
}

/**
 * Reports a call to the reader and to the trace. The trace lines that `work` writes become a part of the call's line.
 * The reader is told nothing about a call that waits for the person, because the reader would take it for made.
 */
async function reported(
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

/** Maximum number of tool calls in one run. After that, the model is told to answer. */
export const MAX_CALLS = 20;
/** Maximum number of equal calls in one run. Further equal calls are not made. */
const MAX_EQUAL_CALLS = 2;

/** Counts the calls of one run: all calls, and equal calls. */
class CallCounter {
  #calls = 0;
  readonly #equal = new Map<string, number>();
  readonly #givenUp = new Set<string>();
  readonly #letThrough = new Set<string>();

  /** The arguments of this tool took too long to check. No more are checked in this run. */
  giveUp(tool: string): void {
    this.#givenUp.add(tool);
  }

  /** Counts the calls of a tool that go on without a confirmation, which depends on their arguments. */
  letThrough(tool: string): 'first' | 'further' {
    if (this.#letThrough.has(tool)) return 'further';
    this.#letThrough.add(tool);
    return 'first';
  }

  /** Counts a call, whose arguments have a limited size. @returns null if the call may be made. */
  count(tool: string, args: unknown): Refusal | null {
    if (++this.#calls > MAX_CALLS)
      return refusal('too_many_calls', 'No more tool calls in this run: answer with what you have.');
    if (this.#givenUp.has(tool))
      return refusal(
        'arguments_too_slow',
        'The tool cannot be used again in this run: its arguments took too long to check. Tell the person.',
      );
    const key = canonicalJson([tool, args ?? {}]);
    const made = this.#equal.get(key) ?? 0;
    if (made >= MAX_EQUAL_CALLS)
      return refusal(
        'repeated_call',
        `This call was made ${MAX_EQUAL_CALLS} times in this run, with the same arguments. It is not made again: use the results that you have.`,
      );
    this.#equal.set(key, made + 1);
    return null;
  }
}
