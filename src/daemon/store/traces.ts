import type { TraceRecord } from '../trace/trace-record.ts';

export interface TraceStore {
  /** Keeps a trace that has no turn to be stored with. */
  keep(trace: TraceRecord): Promise<void>;
  /**
   * Keeps the trace of a request that was refused. Anybody can send such requests, so their traces have a ring
   * of their own: only other refused requests push them out, and they push out nothing else.
   */
  keepRefused(trace: TraceRecord): Promise<void>;
  /** Traces whose turn, request, session or message id it is, oldest first; at most 200, the newest. */
  find(id: string): Promise<TraceRecord[]>;
}
