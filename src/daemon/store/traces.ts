import type { TraceRecord } from '../message/trace.ts';

export interface TraceStore {
  /** Keeps the trace of a request that never had a turn (refused, or failed before its session). */
  keep(trace: TraceRecord): Promise<void>;
  /** Traces whose turn, request, session or message id it is, oldest first; at most 200, the newest. */
  find(id: string): Promise<TraceRecord[]>;
}
