import type { TraceRecord } from '../trace/trace-record.ts';

/** A user of one channel. Without `platform`: all users with this id, on any channel. */
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
   * @param client the tag of the anonymous client (`clientTag`) that sent the request; null or absent if there is none.
   * The embedded store counts the trace for it (ANONYMOUS_STORE_BYTES).
   */
  keepRefused(trace: TraceRecord, client?: string | null): Promise<void>;
  /**
   * The traces whose turn, request, session or message has this id, oldest first. If there are more than 200, only the
   * newest 200.
   */
  find(id: string): Promise<TraceRecord[]>;
  /** The traces of this channel user's messages, oldest first. If there are more than 200, only the newest 200. */
  findOf(user: TraceUser): Promise<TraceRecord[]>;
}
