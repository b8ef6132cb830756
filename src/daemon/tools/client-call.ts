import type { Log } from '../log.ts';
import type { TraceWriter } from '../trace/trace.ts';
import type { CredentialsUsed } from './tool.ts';

/** What a client needs of the call that it is opened for. */
export interface ClientCall {
  signal: AbortSignal;
  trace: TraceWriter;
  log: Pick<Log, 'warn'>;
  watch?: RequestWatcher | undefined;
}

/** Is shown each request with its answer; for `agentd tools call`. */
export type RequestWatcher = (request: WatchedRequest) => void;

export interface WatchedRequest {
  method: string;
  url: string;
  /** Those that the tool set. Fixed headers and credentials are never among them. */
  headers: Readonly<Record<string, string>>;
  /** Undefined: none. */
  body?: unknown;
  credentials: CredentialsUsed;
  /** Null: there is no answer. */
  status: number | null;
}
