import { ERRORS, type ErrorCode } from '../errors.ts';
import type { TraceRecord } from './trace-record.ts';

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
