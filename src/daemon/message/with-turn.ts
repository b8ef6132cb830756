import { AgentdError, type ErrorCode } from '../errors.ts';
import { shortId } from '../session/session.ts';
import { Trace } from '../trace/trace.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import type { Arrival } from './arrival.ts';
import type { Services } from './services.ts';
import type { Arrived } from './turn.ts';
import { beginSpan } from './turn-trace.ts';

/**
 * Makes a turn from a message that has arrived. When the work on the turn has ended, calls the functions that were
 * registered with `defer`, in reverse order.
 * @param options.begun the trace of the message so far. Later lines are appended to this array.
 * @param options.collects false: the turn has no span.
 */
export async function withTurn<Turn extends Arrived, Result>(
  arrival: Arrival<Turn>,
  services: Services,
  work: (turn: Turn) => Promise<Result>,
  { begun = [], collects = true }: { begun?: TraceLine[]; collects?: boolean } = {},
): Promise<Result> {
  const deferred: Parameters<Turn['defer']>[0][] = [];
  const span = collects ? beginSpan(arrival, services, begun) : null;
  const turn = {
    ...arrival,
    trace: new Trace(services.clock, begun, span),
    span,
    agent_digest: services.agents.digest(),
    started_at: services.clock.now(),
    defer: (release) => void deferred.push(release),
  } as Arrived as Turn;
  let failed = true;
  try {
    const result = await work(turn);
    failed = false;
    return result;
  } finally {
    // If one of the functions fails, the others must still be called.
    for (const release of deferred.reverse()) {
      try {
        const releasing = release(failed);
        if (releasing) await releasing;
      } catch (error) {
        services.log.error(
          { ...describeTurn(turn, services), err: error },
          'a resource of the turn could not be released',
        );
      }
    }
  }
}

/** The members of a log line that describe a turn. */
export function describeTurn(turn: Arrived, { clock }: Pick<Services, 'clock'>): Record<string, unknown> {
  return {
    request_id: turn.request_id,
    ...(turn.address === null ? {} : { address: turn.address }),
    channel: turn.channel.name,
    session: shortId(turn.session_id),
    took_ms: clock.now() - turn.started_at,
    ...readTraceId(turn),
    ...(turn.opened_by === undefined ? {} : { opened_by: turn.opened_by }),
  };
}

/** The id under which the trace of the message is found in an OpenTelemetry collector, if spans are collected. */
function readTraceId({ span }: Arrived): { trace_id?: string } {
  const [, trace_id] = span?.traceparent?.split('-') ?? [];
  return trace_id === undefined ? {} : { trace_id };
}

/** Codes that need the attention of an operator. */
const DEFECTS: readonly ErrorCode[] = ['internal_error', 'agent_failed', 'agent_timeout'];

/** Logs why a message was not answered. @returns the error code. */
export function reportFailure(turn: Arrived, error: unknown, services: Services): ErrorCode {
  const code = error instanceof AgentdError ? error.code : 'internal_error';
  const line = { ...describeTurn(turn, services), code };
  if (DEFECTS.includes(code)) services.log.error({ ...line, err: error }, 'message failed');
  // The guard logs when it begins to block. One more line for each blocked message would flood the log.
  else if (code === 'loop_guard_blocked') services.log.debug(line, 'message refused');
  else services.log.info({ ...line, err: error }, 'message refused');
  return code;
}
