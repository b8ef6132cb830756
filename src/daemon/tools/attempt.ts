import type { ToolAnswer } from '../agent/agent.ts';
import type { CallJournal, JournaledCall, JournaledWrite, WriteOutcome } from './call-journal.ts';
import { type CallOutcome, refusal } from './call-outcome.ts';
import { type PreparedCall, performCall } from './perform-call.ts';
import type { ToolRun } from './tool-run.ts';

/** A write that is about to be sent. */
export interface Attempt extends JournaledWrite {
  /** Whether an earlier attempt may have been carried out. */
  readonly again: boolean;
}

/**
 * Records that a write is about to be sent. @returns null if it may be sent; otherwise the answer that says why not.
 */
export async function startAttempt(
  journal: CallJournal,
  write: Attempt,
  call: JournaledCall,
  { log }: ToolRun,
): Promise<CallOutcome | null> {
  try {
    if ((await journal.start(write, { ...call, again: write.again })) === 'started') return null;
    return refusal('claim_lost', 'This was not done: the conversation continues elsewhere.');
  } catch (err) {
    log.warn({ err, tool: call.tool.name }, 'a write could not be recorded, so it was not sent');
    return refusal('not_recorded', 'This was not done: it could not be recorded. Try again later.');
  }
}

/** Makes the call and records its outcome. @param write null if the journal does not record the call. */
export async function sendAttempt(
  prepared: PreparedCall,
  write: Attempt | null,
  run: ToolRun,
): Promise<CallOutcome> {
  run.tool({ tool_name: prepared.tool.name, status: 'started' });
  const isWrite = prepared.tool.effect === 'write';
  const key = isWrite ? (write?.key ?? crypto.randomUUID()) : null;
  try {
    const outcome = await performCall(prepared, key, run);
    return write ? await endAttempt(outcome, write, run) : isWrite ? withDoubt(outcome) : outcome;
  } catch (error) {
    await recordOutcome(run, write, { written: { state: 'unknown', status: null } });
    throw error;
  }
}

/** Records the outcome of an attempt. @returns the outcome for the agent. */
export async function endAttempt(outcome: CallOutcome, write: Attempt, run: ToolRun): Promise<CallOutcome> {
  const told = withDoubt(write.again ? afterEarlierAttempt(outcome) : outcome);
  await recordOutcome(run, write, told);
  return { ...told, action_id: write.action_id };
}

/**
 * The outcome of an attempt that follows another one. If it failed, the outcome of the earlier attempt is still
 * unknown: a 404 may mean that the earlier attempt succeeded, and a 409 may mean that it is still running.
 */
function afterEarlierAttempt(outcome: CallOutcome): CallOutcome {
  const { state, status = null } = outcome.written ?? {};
  if (state === 'done') return outcome;
  const message = 'An earlier attempt at this may have been carried out, and repeating it did not succeed.';
  return { ...outcome, answer: { ok: false, message }, written: { state: 'unknown', status } };
}

/** Adds to a failed answer that the write may have been carried out, so that the agent does not say that it failed. */
function withDoubt(outcome: CallOutcome): CallOutcome {
  const { answer, written } = outcome;
  if (written?.state !== 'unknown' || answer.ok) return outcome;
  const message = `${answer.message} It is not known whether this was done. Tell the person, and do not repeat it.`;
  return { ...outcome, answer: { ok: false, message } };
}

/**
 * Records an outcome in the journal. If that fails, the write remains `started`, which a later run treats as unknown.
 */
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
