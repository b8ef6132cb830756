import type { Log } from '../process/log.ts';
import type { TraceWriter } from '../trace/trace.ts';
import type { CredentialForm } from './downstream/credential-form.ts';
import type { CredentialsUsed } from './tool.ts';

/** The call for which a client is opened. */
export interface ClientCall {
  signal: AbortSignal;
  trace: TraceWriter;
  log: Pick<Log, 'warn'>;
  watch?: RequestWatcher | undefined;
}

/** Called with each request of a call and the status of its answer; used by `agentd tools call`. */
export type RequestWatcher = (request: WatchedRequest) => void;

export interface WatchedRequest {
  method: string;
  url: string;
  /** The headers that the tool set. Fixed headers and credentials are not included. */
  headers: Readonly<Record<string, string>>;
  /** Undefined if the request has no body. */
  body?: unknown;
  credentials: CredentialsUsed;
  /** Where the request carries the credential; null if it carries none. */
  credential: CredentialForm | null;
  /** The status of the answer; null if there is none. */
  status: number | null;
}
