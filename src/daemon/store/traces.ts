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
   * Stores the trace of a request that was refused. Anybody can send such requests, so their traces have a separate
   * ring: they are pushed out only by traces of other refused requests, and push out no others.
   */
  keepRefused(trace: TraceRecord): Promise<void>;
  /** Traces with this id of a turn, request, session or message, oldest first; at most the 200 newest. */
  find(id: string): Promise<TraceRecord[]>;
  /** Traces of messages of this channel user, in the same order; also at most the 200 newest. */
  findOf(user: TraceUser): Promise<TraceRecord[]>;
}
