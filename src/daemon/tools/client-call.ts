import type { Log } from '../log.ts';
import type { TraceWriter } from '../trace/trace.ts';
import type { CredentialsUsed } from './tool.ts';

/** What a client needs to know about the call that it is opened for. */
export interface ClientCall {
  signal: AbortSignal;
  trace: TraceWriter;
  log: Pick<Log, 'warn'>;
  watch?: RequestWatcher | undefined;
}

/** Called with each request and its answer; for `agentd tools call`. */
export type RequestWatcher = (request: WatchedRequest) => void;

export interface WatchedRequest {
  method: string;
  url: string;
  /** Headers that the tool set, without fixed headers and credentials. */
  headers: Readonly<Record<string, string>>;
  /** Undefined if there is none. */
  body?: unknown;
  credentials: CredentialsUsed;
  /** Null if there is no answer. */
  status: number | null;
}
