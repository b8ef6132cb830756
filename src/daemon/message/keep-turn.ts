import type { ErrorCode } from '../errors.ts';
import type { Services } from '../services.ts';
import type { TraceLine, TraceRecord } from '../trace/trace-record.ts';
import type { Arrived, Bound, Opened } from './turn.ts';

export type Outcome =
  | { outcome: 'answered'; reply: string; stopped: boolean }
  | { outcome: 'failed'; failure: ErrorCode };

/** Writes a turn with its trace into its session. False where the session ended meanwhile. */
export function keepTurn(turn: Arrived & Opened & Bound, services: Services, end: Outcome): Promise<boolean> {
  const { message, acting } = turn;
  const failure = end.outcome === 'failed' ? end.failure : null;
  const finished_at = services.clock.now();
  return services.store.sessions.keepTurn(
    turn.session_id,
    {
      turn_id: turn.turn_id,
      request_id: turn.request_id,
      message_id: message.message_id ?? null,
      user_id: message.user_id,
      person: acting.person,
      text: message.text,
      reply: end.outcome === 'answered' ? end.reply : null,
      outcome: end.outcome,
      ...(end.outcome === 'answered' && end.stopped ? { stopped: true } : {}),
      failure,
      credentials: acting.person === null ? 'default' : 'user',
      credentials_reason: acting.person === null ? (acting.token_reason ?? acting.reason) : 'valid_token',
      started_at: turn.started_at,
      finished_at,
    },
    failure === null ? answeredTrace(turn, finished_at) : traceRecord(turn, failure, finished_at),
    services.settings.SESSION_TTL_SECONDS * 1000,
  );
}

/**
 * The trace of an answered turn is stored by the step that stores the reply, so it says of that step, and of
 * the one that hands the reply over, what holds once it is stored.
 */
function answeredTrace(turn: Arrived, finished_at: number): TraceRecord {
  const record = traceRecord(turn, 'answered', finished_at);
  const lines: TraceLine[] = [...record.lines, { at: finished_at, step: 'store-reply', verdict: 'ok' }];
  const reason = turn.stream ? 'on_stream' : 'in_response';
  if (!turn.inbox) lines.push({ at: finished_at, step: 'send-reply', verdict: 'ok', reason });
  return { ...record, lines };
}

/** The trace as it is stored; `outcome` is `answered`, `replayed`, or the error code. */
export function traceRecord(
  turn: Arrived & Partial<Opened>,
  outcome: string,
  finished_at: number,
): TraceRecord {
  return {
    turn_id: turn.turn_id,
    request_id: turn.request_id,
    session_id: isPartOfSession(turn, outcome) ? turn.session_id : null,
    message_id: turn.message.message_id ?? null,
    platform: turn.message.platform,
    user_id: turn.message.user_id,
    started_at: turn.started_at,
    finished_at,
    outcome,
    lines: turn.trace.finished(),
  };
}

/**
 * Is a trace found by its session? Only where it became part of it: a client may name any session, and before
 * that is looked at, its attempt is not the owner's story. Platforms name their own.
 */
function isPartOfSession(turn: Arrived & Partial<Opened>, outcome: string): boolean {
  if (outcome === 'session_forbidden') return false;
  return (
    turn.session !== undefined || turn.inbox !== null || turn.session_is_generated || outcome === 'replayed'
  );
}
