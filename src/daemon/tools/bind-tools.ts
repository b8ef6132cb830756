import type { ToolStatus } from '../../channel/index.ts';
import type { AgentTool, ToolAnswer } from '../agent/agent.ts';
import { requestContext, withRequestContext } from '../agent/context.ts';
import { CallCounter } from './call-counter.ts';
import type { CallJournal, JournaledCall, JournaledWrite, WriteOutcome } from './call-journal.ts';
import { type CallOutcome, refusal } from './call-outcome.ts';
import { checkArguments } from './check-arguments.ts';
import type { CallToConfirm, ConfirmationDesk } from './confirmation-desk.ts';
import { type CallContext, type PreparedCall, performCall, prepareCall } from './perform-call.ts';
import type { Tool, ToolArguments, ToolAudience } from './tool.ts';

export interface ToolProgress {
  tool_name: string;
  status: ToolStatus;
}

/** What of the message that is being answered the policy of calls needs. */
export interface ToolRun extends CallContext {
  /** Tells the reader that a call has begun or ended. */
  tool(progress: ToolProgress): void;
  audience: ToolAudience;
  /** Null: writes are not recorded, as in tests. */
  journal: CallJournal | null;
  /** Null: nobody can be asked, so a call that needs confirmation is not made. */
  confirmation: ConfirmationDesk | null;
}

/**
 * Binds the tools to one message. This is the one place where the policy of calls is enforced, whatever their source
 * (agentd-agent(7), "Tools"). What goes wrong in a call becomes an answer in words; a call rejects only if the run's
 * signal aborts.
 *
 * To be called within the request context: the tools keep it, also if a runtime calls them from an event of its own,
 * which has another context or none.
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

/** A call that its person has confirmed, as it was kept. */
export interface ConfirmedCall {
  action_id: string;
  tool: string;
  args: ToolArguments;
  /** An earlier attempt may have been carried out. */
  again: boolean;
}

/**
 * Makes a confirmed call, with the credentials that the person has now. Its record in the journal has begun already, so
 * only the outcome is recorded here. To be called within the request context.
 */
export async function executeConfirmed(
  tools: readonly Tool[],
  { action_id, tool: name, args, again }: ConfirmedCall,
  run: ToolRun,
): Promise<ToolAnswer> {
  const write = { action_id, key: action_id, again };
  const tool = tools.find((candidate) => candidate.name === name && isOffered(candidate, run));
  if (!tool) {
    const gone = refusal('tool_gone', 'Nothing was done: there is no such tool any more.');
    return (await recorded(gone, write, run)).answer;
  }
  return reported(tool, run, async (within) => {
    const prepared = await prepareCall(tool, args, within);
    return 'credential' in prepared ? send(prepared, write, within) : recorded(prepared, write, within);
  });
}

/** The policy, in order. */
async function callOnce(
  tool: Tool,
  given: unknown,
  counter: CallCounter,
  run: ToolRun,
): Promise<CallOutcome> {
  const tooMany = counter.count(tool.name, given);
  if (tooMany) return tooMany;
  const checked = checkArguments(tool.parameters, given);
  if (!checked.ok) return refusal('invalid_arguments', checked.message);
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

  if (!run.journal || !known) return send(prepared, null, run);
  const write = { ...known.write, again: known.state === 'unknown' };
  const unsent = await record(run.journal, write, call, run);
  if (unsent !== null) return unsent;
  if (run.signal.aborted) {
    // The run ended while the write was being recorded: this attempt is not sent.
    await recorded(refusal('aborted', 'Nothing was done: the run has ended.'), write, run);
    run.signal.throwIfAborted();
  }
  return send(prepared, write, run);
}

/** What the daemon keeps itself, such as memory, is no action in the person's name. */
function isJournaled({ effect, source }: Tool): boolean {
  return effect === 'write' && source.kind !== 'built-in';
}

const UNKNOWN =
  'An earlier attempt at this may have been carried out: it is not known, and it was not repeated. Say so to the person.';

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

/** Records that a write is about to be sent. @returns why it is not sent; null: it may be sent */
async function record(
  journal: CallJournal,
  write: Attempt,
  call: JournaledCall,
  { log }: ToolRun,
): Promise<CallOutcome | null> {
  try {
    if ((await journal.start(write, { ...call, again: write.again })) === 'started') return null;
    return refusal('claim_lost', 'This was not done: the conversation goes on elsewhere.');
  } catch (err) {
    log.warn({ err, tool: call.tool.name }, 'a write could not be recorded, so it was not sent');
    return refusal('not_recorded', 'This was not done: it could not be recorded. Try again later.');
  }
}

/** A write that is about to be sent. */
interface Attempt extends JournaledWrite {
  /** An earlier attempt may have been carried out. */
  readonly again: boolean;
}

/** Steps 7 to 10: the call, and its outcome in the journal. */
async function send(prepared: PreparedCall, write: Attempt | null, run: ToolRun): Promise<CallOutcome> {
  const isWrite = prepared.tool.effect === 'write';
  const key = isWrite ? (write?.key ?? crypto.randomUUID()) : null;
  try {
    const outcome = await performCall(prepared, key, run);
    return write ? await recorded(outcome, write, run) : isWrite ? withDoubt(outcome) : outcome;
  } catch (error) {
    await recordOutcome(run, write, { written: { state: 'unknown', status: null } });
    throw error;
  }
}

/** Records what came of an attempt. @returns it, as the agent is told. */
async function recorded(outcome: CallOutcome, write: Attempt, run: ToolRun): Promise<CallOutcome> {
  const told = withDoubt(write.again ? afterEarlierAttempt(outcome) : outcome);
  await recordOutcome(run, write, told);
  return told;
}

/** An attempt that fails says nothing of the one before: a 404 may mean that it was carried out, a 409 that it still is. */
function afterEarlierAttempt(outcome: CallOutcome): CallOutcome {
  const { state, status = null } = outcome.written ?? {};
  if (state === 'done') return outcome;
  const message = 'An earlier attempt at this may have been carried out, and repeating it did not succeed.';
  return { ...outcome, answer: { ok: false, message }, written: { state: 'unknown', status } };
}

/** Of a write that may have been carried out, the agent must not say that it failed. */
function withDoubt(outcome: CallOutcome): CallOutcome {
  const { answer, written } = outcome;
  if (written?.state !== 'unknown' || answer.ok) return outcome;
  const message = `${answer.message} It is not known whether this was done. Say so to the person, and do not repeat it.`;
  return { ...outcome, answer: { ok: false, message } };
}

/** A record that cannot be written leaves the write as `started`, which a later run takes for unknown. */
async function recordOutcome(
  run: ToolRun,
  write: Attempt | null,
  { written, answer = null }: Pick<CallOutcome, 'written'> & { answer?: ToolAnswer | null },
): Promise<void> {
  if (!run.journal || !write) return;
  const outcome: WriteOutcome = { ...(written ?? { state: 'failed', status: null }), answer };
  try {
    await run.journal.finish(write, outcome);
  } catch (err) {
    run.log.warn({ err, action_id: write.action_id }, 'the outcome of a write could not be recorded');
  }
}

/** Tells the reader and the trace of a call. What `work` notes belongs to the call. */
async function reported(
  tool: Tool,
  run: ToolRun,
  work: (within: ToolRun) => Promise<CallOutcome>,
): Promise<ToolAnswer> {
  run.signal.throwIfAborted();
  const part = run.trace.begin('tool');
  const started_at = performance.now();
  const tell = (status: ToolStatus) => run.tool({ tool_name: tool.name, status });
  const note = (verdict: 'ok' | 'failed', reason: string | undefined) =>
    part.end({
      verdict,
      ...(reason === undefined ? {} : { reason }),
      detail: { tool: tool.name },
      took_ms: Math.round(performance.now() - started_at),
    });
  tell('started');
  try {
    const { answer, reason } = await markedAsForeign(tool, await work({ ...run, trace: part }));
    tell(answer.ok ? 'completed' : 'failed');
    note(answer.ok ? 'ok' : 'failed', reason);
    return answer;
  } catch (err) {
    tell('failed');
    note('failed', run.signal.aborted ? 'aborted' : 'tool_broken');
    run.signal.throwIfAborted();
    run.log.warn({ tool: tool.name, err }, 'tool failed unexpectedly');
    return { ok: false, message: 'The tool failed for an inner reason.' };
  }
}

/** Before a result from elsewhere reaches the agent: what the run remembers is not given to later runs unasked. */
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
      'The call was made, but its result cannot be shown: what you remembered before it could not be marked.',
    );
  }
}

function isOffered(tool: Tool, { audience, log }: ToolRun): boolean {
  try {
    return tool.offered?.(audience) ?? true;
  } catch (err) {
    log.warn({ tool: tool.name, err }, 'a tool could not say whether it is offered, so it is not');
    return false;
  }
}

function keepContext(): <T>(work: () => T) => T {
  const context = requestContext();
  return (work) => (context ? withRequestContext(context, work) : work());
}
