import type { TraceRecord } from '../trace/trace-record.ts';

/** A user of one channel or, without `platform`, the users of all channels that have this id. */
export interface TraceUser {
  platform?: string;
  user_id: string;
}

export interface TraceStore {
  /** Stores a trace that is not stored with a turn. */
  keep(trace: TraceRecord): Promise<void>;
  /**
   * Stores the trace of a refused request. Anybody can send such requests, so their traces have a separate limit.
   * Beyond it, only the oldest traces of refused requests are deleted.
   */
  keepRefused(trace: TraceRecord): Promise<void>;
  /**
   * The traces with this id of a turn, request, session or message, oldest first. If there are more than 200, the
   * newest 200.
   */
  find(id: string): Promise<TraceRecord[]>;
  /** Traces of messages of this channel user, in the same order; also at most the 200 newest. */
  findOf(user: TraceUser): Promise<TraceRecord[]>;
}
