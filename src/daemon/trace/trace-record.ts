/**
 * What happened to one message, line by line. Stored with the turn, and printed by `agentd explain`. Never contains a
 * token or the text of a message.
 */
export interface TraceLine {
  /** ms since the epoch. */
  at: number;
  /** The step (`identify`, `open-session`, …), or what happened within it (`downstream`, `tool`). */
  step: string;
  /** `ok`, or how the step changed or ended the turn. */
  verdict: 'ok' | 'fallback' | 'refused' | 'failed';
  /** A stable word or the documented reason: `Token Expired`, `session_forbidden`, `no_jwt_context`, … */
  reason?: string;
  /** Details for the reader. */
  detail?: Record<string, string | number | boolean>;
  took_ms?: number;
}

/** What a step reports in the trace. The sequence adds its name, time and duration. */
export type StepLine = Pick<TraceLine, 'reason' | 'detail'> & { verdict: TraceLine['verdict'] };

/** The trace of one message or refused request, as it is stored. */
export interface TraceRecord {
  turn_id: string;
  request_id: string;
  session_id: string | null;
  message_id: string | null;
  platform: string;
  user_id: string | null;
  /**
   * The key of the person whose valid token came with it, so that it can be erased with their data. Absent if there is
   * none.
   */
  person?: string;
  started_at: number;
  finished_at: number;
  /** `answered`, or the error code that ended it. */
  outcome: string;
  lines: TraceLine[];
}
