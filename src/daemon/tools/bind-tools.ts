import type { AgentTool } from '../../agent/index.ts';
import { type CallOutcome, invalidArguments, type Refusal, refusal } from './call-outcome.ts';
import { holds } from './confirmation/confirm-policy.ts';
import {
  type CallRun,
  notSent,
  prepareCall,
  sendAttempt,
  startAttempt,
  type ToolRun,
} from './perform-call.ts';
import { reportCall, WAITS } from './report-call.ts';
import { checkRead } from './schema/check-arguments.ts';
import { canonicalJson, readArguments } from './schema/read-arguments.ts';
import type { CompleteCall, Tool } from './tool.ts';

/**
 * Binds the tools to one message. Only this function and `executeConfirmed` make calls, so the policy of calls
 * holds for every source (agentd-agent(7), "Tools"). If a call fails, its answer says why. A call rejects only
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
        const answer = await reportCall(tool, run, (within) => callOnce(tool, given, counter, within));
        run.record?.({ tool, args: given, answer });
        return answer;
      },
    }));
}

/** Applies the rules of the policy in their order, and makes the call if they allow it. */
async function callOnce(
  tool: Tool,
  given: unknown,
  counter: CallCounter,
  run: CallRun,
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
  if (!('credential' in prepared)) {
    const isInDoubt = prepared.sign_in_needed && run.journal?.wroteForOthers(tool.name);
    return isInDoubt ? { ...prepared, answer: { ok: false, message: MADE_FOR_OTHERS } } : prepared;
  }

  const problem = tool.effect === 'write' ? tool.unusable?.(prepared.args) : null;
  if (problem) return invalidArguments(problem);

  const call = { tool, args: prepared.args };
  const known = isJournaled(tool) && run.journal ? await run.journal.known(call) : null;
  if (known?.state === 'ended') return { answer: known.answer, reason: 'made_before' };
  if (known?.state === 'unknown' && !tool.idempotent) return refusal('outcome_unknown', UNKNOWN);

  const isFurther = known?.state === 'new' && known.further;
  if (known?.state !== 'unknown' && (isFurther || (await mustAsk(call, counter, run)))) return ask(call, run);

  if (!run.journal || !known) return sendAttempt(prepared, null, run);
  const write = { action_id: known.action_id, again: known.state === 'unknown' };
  const unsent = await startAttempt(run.journal, write, call, run);
  if (unsent !== null) return unsent;
  if (run.limit.hasEnded) {
    await notSent(write, run);
    run.limit.throwIfEnded();
  }
  return sendAttempt(prepared, write, run);
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

/** What the agent is told of a call that the person must confirm. */
export const WAITS_FOR_PERSON =
  'Not done yet: it waits for the person, who is asked to confirm it at the end of your reply. You cannot confirm it.';

const REPLACES =
  'The question that was still open is withdrawn. Call its actions again if the person still wants them.';

/** What the agent is told if the person of an earlier run is no longer signed in. */
const MADE_FOR_OTHERS =
  'Sign-in is needed for this. An earlier run of this message may have done it already. Tell the person that they must sign in first to learn whether it was done.';

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
  const message = asked.replaces ? `${WAITS_FOR_PERSON} ${REPLACES}` : WAITS_FOR_PERSON;
  return {
    answer: { ok: true, result: { waits_for_confirmation: true, message } },
    reason: WAITS,
  };
}

export function isOffered(tool: Tool, { audience, log }: ToolRun): boolean {
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
