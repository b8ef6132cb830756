import type { RequestContext } from '../agent/context.ts';
import type { Log } from '../process/log.ts';
import type { AlarmClock } from '../time/clock.ts';
import { ContextEnded, TimeLimit } from '../time/time-limit.ts';
import type { TraceWriter } from '../trace/trace.ts';
import { answerOf } from './answer-of.ts';
import { bindParameters } from './bind-parameters.ts';
import { type CallOutcome, type Refusal, refusal } from './call-outcome.ts';
import { type CallCredential, chooseCredential } from './choose-credential.ts';
import type { RequestWatcher } from './client-call.ts';
import { type CredentialChoice, chooseCredentials } from './downstream/credentials.ts';
import { type OpenedClient, openToolClient } from './open-tool-client.ts';
import type { PersonClaims, Sent, Tool, ToolArguments } from './tool.ts';
import type { ToolAccess } from './tool-access.ts';

/**
 * Time limit of one tool call, ms, unless the tool has a shorter one. It starts again when the call makes progress, if
 * the tool has a longer one. Usually the deadline of the run comes first.
 */
export const CALL_TIMEOUT_MS = 120_000;

export interface CallContext {
  /** Whom the call acts for. Null: for nobody, so that it uses default credentials. */
  context: RequestContext | null;
  clock: AlarmClock;
  trace: TraceWriter;
  /** Aborts when the run is aborted. */
  signal: AbortSignal;
  log: Pick<Log, 'debug' | 'warn'>;
  access: ToolAccess;
  watch?: RequestWatcher;
}

/** A call with all of its arguments and its credential. */
export interface PreparedCall {
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
  run: CallContext,
): Promise<PreparedCall | Refusal> {
  const choice = await chooseCredentials(run.context, run.access, tool.credentials);
  const person = choice.use === 'user' ? choice.claims : null;
  const bound = bindParameters(tool, given, person);
  if (!bound.ok) {
    note(run, tool, {
      refused: bound.refusal.reason === 'sign_in_needed' ? why(choice) : bound.refusal.reason,
    });
    return bound.refusal;
  }
  const chosen = chooseCredential(tool, choice);
  if (!chosen.ok) {
    note(run, tool, { refused: chosen.refusal.reason });
    return chosen.refusal;
  }
  note(run, tool, chosen.credential);
  return { tool, args: bound.args, person, credential: chosen.credential };
}

/** Sends a call within its time limit. Rejects only if the signal of the run aborts. */
export async function performCall(
  prepared: PreparedCall,
  idempotency_key: string | null,
  context: CallContext,
): Promise<CallOutcome> {
  const { tool, credential } = prepared;
  const { timeout_ms = CALL_TIMEOUT_MS } = tool;
  const limit = new TimeLimit(context.clock, Math.min(timeout_ms, CALL_TIMEOUT_MS), [context.signal]);
  try {
    const { sent, opened } = await send(prepared, idempotency_key, context, limit);
    if (sent.outcome !== 'sign_in_needed' || credential.use !== 'user' || !credential.fallback)
      return answerOf(tool, sent, opened);
    // Only `fetch` for protocol libraries needs this, because `request` falls back itself.
    const byDefault = { use: 'default', because: 'user_token_refused' } as const;
    note(context, tool, byDefault);
    const second = await send({ ...prepared, credential: byDefault }, idempotency_key, context, limit);
    return answerOf(tool, second.sent, second.opened);
  } catch (err) {
    context.signal.throwIfAborted();
    const written = { state: 'unknown', status: null } as const;
    if (limit.passed) return { ...refusal('tool_timeout', 'The tool did not answer in time.'), written };
    context.log.warn({ tool: tool.name, err }, 'tool failed unexpectedly');
    return { ...refusal('tool_broken', 'The tool failed because of an internal error.'), written };
  } finally {
    // Whatever the source still does for this call, for example because it kept the client, does nothing from now on.
    limit.end(endOfCalls(tool));
    limit.lift();
  }
}

/** One for all calls of a tool: an error with its stack would be the largest part of the cost of ending a call. */
const ends = new WeakMap<Tool, ContextEnded>();

function endOfCalls(tool: Tool): ContextEnded {
  let end = ends.get(tool);
  if (!end) {
    end = ContextEnded.ofCall(tool.name);
    ends.set(tool, end);
  }
  return end;
}

async function send(
  { tool, args, person, credential }: PreparedCall,
  idempotency_key: string | null,
  { context, trace, log, access, watch }: CallContext,
  limit: TimeLimit,
): Promise<{ sent: Sent; opened: OpenedClient }> {
  const { signal } = limit;
  const call = { signal, trace, log, watch };
  const opened = openToolClient(tool, credential, call, access);
  const { timeout_ms = CALL_TIMEOUT_MS } = tool;
  const progressed = () => limit.restart(timeout_ms);
  const { client } = opened;
  const sending = tool.send(args, { client, person, context, idempotency_key, signal, progressed, log });
  return { sent: await limit.within(sending), opened };
}

function why(choice: CredentialChoice): string {
  return choice.use === 'default' ? choice.reason : 'claim_missing';
}

function note({ trace }: CallContext, tool: Tool, chosen: CallCredential | { refused: string }): void {
  const policy = { policy: tool.credentials };
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
