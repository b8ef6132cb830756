import type { ToolAnswer } from '../../agent/index.ts';
import type { ConversationEvent } from '../../channel/index.ts';
import type { RequestContext } from '../agent/context.ts';
import type { Log } from '../process/log.ts';
import type { AlarmClock } from '../time/clock.ts';
import { type Cancellation, ContextEnded, TimeLimit } from '../time/time-limit.ts';
import type { TraceWriter } from '../trace/trace.ts';
import { composeAnswer, type ServerPage } from './answer.ts';
import { bindParameters } from './bind-parameters.ts';
import { CallClient } from './call-client.ts';
import {
  type CallOutcome,
  type Refusal,
  refusal,
  SESSION_UNREACHABLE,
  signInNeeded,
} from './call-outcome.ts';
import type { RequestWatcher } from './call-request.ts';
import {
  type CallCredential,
  type CredentialChoice,
  chooseCredential,
  chooseCredentials,
} from './choose-credential.ts';
import type { ConfirmationDesk } from './confirmation/desk.ts';
import type { CallJournal, WriteOutcome } from './journal/turn-journal.ts';
import type { CompleteCall, PersonClaims, Sent, Tool, ToolArguments, ToolAudience } from './tool.ts';
import type { ToolAccess } from './tool-access.ts';

/** What the reader of an answer is told about a call. */
export type ToolProgress = Omit<Extract<ConversationEvent, { type: 'tool_call' }>, 'type'>;

/** A call that was answered. */
export interface MadeCall {
  tool: Tool;
  /** The arguments that the agent gave: without those that were filled in from the person's token. */
  args: unknown;
  /** The answer that the agent gets. */
  answer: ToolAnswer;
}

/** What the policy of calls needs to know about the message that is being answered. */
export interface ToolRun {
  /** Whom the calls act for. Null: for nobody, so that they use default credentials. */
  context: RequestContext | null;
  /** Notifies the reader that a call has begun or ended. */
  progress(progress: ToolProgress): void;
  audience: ToolAudience;
  /** Notes a call that was answered, for the history of later runs. */
  record?(call: MadeCall): void;
  /** Null if writes are not recorded, for example in tests. */
  journal: CallJournal | null;
  /** Null if nobody can be asked. Then calls that need a confirmation are not made. */
  confirmation: Pick<ConfirmationDesk, 'ask'> | null;
  /** Shows a page at the end of the reply. Null if nobody can be shown one. */
  showPage: ((page: ServerPage) => void) | null;
  clock: AlarmClock;
  trace: TraceWriter;
  /** Ends with the run. */
  limit: Cancellation;
  log: Pick<Log, 'debug' | 'warn'>;
  access: ToolAccess;
  watch?: RequestWatcher;
}

/** A run during one call. */
export interface CallRun extends ToolRun {
  /** The call is being sent. */
  sending(): void;
  /** Its credentials were chosen. @param use null: none can be used */
  choosing(use: CallCredential['use'] | null): void;
}

/**
 * Time limit of one tool call, ms, unless the tool has a shorter one. It starts again when the call makes progress, if
 * the tool has a longer one. Usually the deadline of the run comes first.
 */
export const CALL_TIMEOUT_MS = 120_000;

/** A call with all of its arguments and its credential. */
interface PreparedCall {
  tool: Tool;
  args: ToolArguments;
  person: PersonClaims | null;
  credential: CallCredential;
}

/**
 * Steps 3 and 4 of a call (agentd-agent(7), "Tools"): fills in the bound parameters, and chooses the credential. The
 * person is read once, from the context of the message and never from arguments.
 */
export async function prepareCall(
  tool: Tool,
  given: ToolArguments,
  run: CallRun,
): Promise<PreparedCall | Refusal> {
  const choice = await chooseCredentials(run.context, run.access, tool.credentials);
  const person = choice.use === 'user' ? choice.claims : null;
  const bound = bindParameters(tool, given, person);
  if (!bound.ok) {
    const { reason } = bound.refusal;
    const refused = reason === 'sign_in_needed' ? why(choice) : reason;
    note(run, tool, { refused });
    return refused === SESSION_UNREACHABLE ? signInNeeded(refused) : bound.refusal;
  }
  const chosen = chooseCredential(tool, choice);
  if (!('use' in chosen)) {
    note(run, tool, { refused: chosen.reason });
    return chosen;
  }
  note(run, tool, chosen);
  return { tool, args: bound.args, person, credential: chosen };
}

/** Sends a call within its time limit. Rejects only if the run has ended. */
async function performCall(
  prepared: PreparedCall,
  idempotency_key: string | null,
  run: CallRun,
): Promise<CallOutcome> {
  const { tool, credential } = prepared;
  const { timeout_ms = CALL_TIMEOUT_MS } = tool;
  const limit = new TimeLimit(run.clock, Math.min(timeout_ms, CALL_TIMEOUT_MS), [run.limit]);
  try {
    const { sent, opened } = await send(prepared, idempotency_key, run, limit);
    if (sent.outcome !== 'sign_in_needed' || credential.use !== 'user' || !credential.fallback)
      return composeAnswer(tool, sent, opened);
    // Only `fetch` for protocol libraries needs this, because `request` falls back itself.
    const byDefault = { use: 'default', because: 'user_token_refused' } as const;
    note(run, tool, byDefault);
    const second = await send({ ...prepared, credential: byDefault }, idempotency_key, run, limit);
    return composeAnswer(tool, second.sent, second.opened);
  } catch (err) {
    run.limit.throwIfEnded();
    const written = { state: 'unknown', status: null } as const;
    if (limit.passed) return { ...refusal('tool_timeout', 'The tool did not answer in time.'), written };
    run.log.warn({ tool: tool.name, err }, 'tool failed unexpectedly');
    return { ...refusal('tool_broken', 'The tool failed because of an internal error.'), written };
  } finally {
    // Whatever the source still does for this call, for example because it kept the client, does nothing from now on.
    limit.end(() => ContextEnded.ofCall(tool.name));
    limit.lift();
  }
}

async function send(
  { tool, args, person, credential }: PreparedCall,
  idempotency_key: string | null,
  { context, trace, log, access, watch }: CallRun,
  limit: TimeLimit,
): Promise<{ sent: Sent; opened: CallClient }> {
  const { signal } = limit;
  const call = { acts_for: context?.acts_for ?? null, signal, trace, log, watch };
  const opened = new CallClient(tool, credential, call, access);
  const { timeout_ms = CALL_TIMEOUT_MS } = tool;
  const progressed = () => limit.restart(timeout_ms);
  const { client } = opened;
  const sending = tool.send(args, { client, person, context, idempotency_key, signal, progressed, log });
  return { sent: await limit.within(sending), opened };
}

function why(choice: CredentialChoice): string {
  return choice.use === 'default' ? choice.reason : 'claim_missing';
}

function note({ trace, choosing }: CallRun, tool: Tool, chosen: CallCredential | { refused: string }): void {
  const policy = { policy: tool.credentials };
  choosing('refused' in chosen ? null : chosen.use);
  if ('refused' in chosen) {
    trace.note({ step: 'credentials', verdict: 'refused', reason: chosen.refused, detail: policy });
    return;
  }
  const because = chosen.use === 'default' ? chosen.because : null;
  const detail = { credentials: chosen.use, ...policy };
  trace.note({
    step: 'credentials',
    ...(because === null ? { verdict: 'ok' } : { verdict: 'fallback', reason: because }),
    detail,
  });
}

/** A write that is about to be sent. */
interface WriteAttempt {
  readonly action_id: string;
  /** Whether an earlier attempt may have been carried out. */
  readonly again: boolean;
}

/**
 * Records that a write is about to be sent. @returns null if it may be sent; otherwise the answer that says why not.
 */
export async function startAttempt(
  journal: CallJournal,
  write: WriteAttempt,
  call: CompleteCall,
  { log }: ToolRun,
): Promise<CallOutcome | null> {
  try {
    if ((await journal.start(write.action_id, { ...call, again: write.again })) === 'started') return null;
    return refusal('claim_lost', 'This was not done: the conversation continues elsewhere.');
  } catch (err) {
    log.warn({ err, tool: call.tool.name }, 'a write could not be recorded, so it was not sent');
    return refusal('not_recorded', 'This was not done: it could not be recorded. Try again later.');
  }
}

/** Makes the call and records its outcome. @param write null if the journal does not record the call. */
export async function sendAttempt(
  prepared: PreparedCall,
  write: WriteAttempt | null,
  run: CallRun,
): Promise<CallOutcome> {
  run.sending();
  const isWrite = prepared.tool.effect === 'write';
  const key = isWrite ? (write?.action_id ?? crypto.randomUUID()) : null;
  try {
    const outcome = await performCall(prepared, key, run);
    return write ? await endAttempt(outcome, write, run) : isWrite ? withDoubt(outcome) : outcome;
  } catch (error) {
    await recordOutcome(run, write, { written: { state: 'unknown', status: null } });
    throw error;
  }
}

/** Records the outcome of an attempt. @returns the outcome for the agent. */
export async function endAttempt(
  outcome: CallOutcome,
  write: WriteAttempt,
  run: ToolRun,
): Promise<CallOutcome> {
  const told = withDoubt(write.again ? afterEarlierAttempt(outcome) : outcome);
  await recordOutcome(run, write, told);
  return { ...told, action_id: write.action_id };
}

/** The outcome of a write that is not sent, because the run ended while the write was being recorded. */
export function notSent(write: WriteAttempt, run: ToolRun): Promise<CallOutcome> {
  return endAttempt(refusal('aborted', 'Nothing was done: the run has ended.'), write, run);
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
  write: WriteAttempt | null,
  { written, answer = null }: Pick<CallOutcome, 'written'> & { answer?: ToolAnswer | null },
): Promise<void> {
  if (!run.journal || !write) return;
  const outcome: WriteOutcome = { ...(written ?? { state: 'failed', status: null }), answer };
  try {
    await run.journal.finish(write.action_id, outcome);
  } catch (err) {
    run.log.warn({ err, action_id: write.action_id }, 'the outcome of a write could not be recorded');
  }
}
