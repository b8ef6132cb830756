import { shortId } from '../session/ids.ts';
import type { Services } from './services.ts';
import type { Arrived } from './turn.ts';

/** The members of a log line that describe a turn. */
export function describeTurn(turn: Arrived, { clock }: Pick<Services, 'clock'>): Record<string, unknown> {
  return {
    request_id: turn.request_id,
    ...(turn.address === null ? {} : { address: turn.address }),
    channel: turn.channel.name,
    session: shortId(turn.session_id),
    took_ms: clock.now() - turn.started_at,
    ...traceIdOf(turn),
    ...(turn.opened_by === undefined ? {} : { opened_by: turn.opened_by }),
  };
}

/** The id under which the trace of the message is found in an OpenTelemetry collector, if spans are collected. */
function traceIdOf({ span }: Arrived): { trace_id?: string } {
  const [, trace_id] = span?.traceparent?.split('-') ?? [];
  return trace_id === undefined ? {} : { trace_id };
}
