import { ERRORS, type ErrorCode } from '../errors.ts';
/**
 * One event in the processing of a message. The lines of a message are stored with its turn, and `agentd explain`
 * prints them. They never contain a token or the text of a message.
 */
export interface TraceLine {
  /** When the line was written, ms since the epoch. */
  at: number;
  /** The step (`identify`, `open-session`, …), or an event within a step (`downstream`, `tool`). */
  step: string;
  /** `ok`, or how the step changed or ended the turn. */
  verdict: 'ok' | 'fallback' | 'refused' | 'failed';
  /** A stable word, or a documented reason: for example `Token Expired`, `session_forbidden`, `no_jwt_context`. */
  reason?: string;
  /** Details for the reader of the trace. */
  detail?: Record<string, string | number | boolean>;
  took_ms?: number;
}

/** The part of a step's trace line that the step sets. The sequence adds the step's name, time and duration. */
export type StepLine = Pick<TraceLine, 'reason' | 'detail'> & { verdict: TraceLine['verdict'] };

/** The trace of one message or refused request, as it is stored. */
export interface TraceRecord {
  turn_id: string;
  request_id: string;
  session_id: string | null;
  message_id: string | null;
  platform: string;
  user_id: string | null;
  /** The further messages of the turn, in order. Absent if the turn answers one message. */
  collected?: readonly CollectedMessage[];
  /** The first run of the message, if this is the second one (agentd-identity(7), "The question waits"). */
  rerun_of?: { turn_id: string; message_id: string | null };
  /**
   * The key of the person whose valid token came with the message, so that the trace can be erased with the person's
   * data. Absent if no valid token came.
   */
  person?: string;
  /** The name of the agent that was chosen. Absent if the message ended before. */
  agent?: string;
  /** The digest of instructions, tools and model that the daemon had. Absent in a trace of no run. */
  agent_digest?: string;
  started_at: number;
  finished_at: number;
  /** `answered`, `replayed`, `summarized`, or the error code that ended the message. */
  outcome: string;
  lines: TraceLine[];
}

/** A further message that a turn answers (agentd-message(7), "Collected messages"). */
export interface CollectedMessage {
  /** The id of the message in the inbox. */
  id: string;
  message_id: string | null;
  request_id: string;
}

/** How a message ended, for people and metrics. */
export const MESSAGE_OUTCOMES = ['answered', 'failed', 'blocked', 'refused', 'replayed', 'stopped'] as const;
export type MessageOutcome = (typeof MESSAGE_OUTCOMES)[number];

/** How the message of a trace ended. The trace must be that of a run or of a refused request. */
export function messageOutcome({ outcome, lines }: Pick<TraceRecord, 'outcome' | 'lines'>): MessageOutcome {
  if (outcome === 'answered') {
    const isStopped = lines.some(({ step, reason }) => step === 'run-agent' && reason === 'stopped');
    return isStopped ? 'stopped' : 'answered';
  }
  if (outcome === 'replayed') return 'replayed';
  if (outcome === 'loop_guard_blocked') return 'blocked';
  const status = outcome in ERRORS ? ERRORS[outcome as ErrorCode].status : 500;
  return status < 500 ? 'refused' : 'failed';
}
