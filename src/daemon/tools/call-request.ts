import type { PersonKey } from '../identity/identity.ts';
import type { Log } from '../process/log.ts';
import { maskTokens } from '../settings/secret.ts';
import type { TraceWriter } from '../trace/trace.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import type { Bearer, CallBearers } from './call-bearers.ts';
import type { CredentialForm } from './downstream/credential-form.ts';
import type { CredentialsUsed, Tool } from './tool.ts';
import { API, type ToolAccess } from './tool-access.ts';

export interface ClientCall {
  /** The person whom the message acts for, whatever the credential of the call; null for nobody. */
  acts_for?: PersonKey | null;
  signal: AbortSignal;
  trace: TraceWriter;
  log: Pick<Log, 'warn'>;
  watch?: RequestWatcher | undefined;
}

/** What each request of a call needs. */
export interface OpenCall extends ClientCall {
  tool: Tool;
  access: ToolAccess;
  bearers: CallBearers;
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

const MAX_TRACED_PATH = 200;

interface BegunRequest {
  /** Value of the request's header `traceparent`; null if it has none. */
  readonly traceparent: string | null;
  /** Writes the trace line, and calls the watcher. @param end the status of the answer or, without one, the failure */
  end(end: number | { failure: string }): void;
}

/** Begins the trace line of a request. */
export function beginRequest(
  { tool, trace, watch, access: { clock } }: OpenCall,
  bearer: Bearer,
  request: { method: string; path: string; shown(): Pick<WatchedRequest, 'url' | 'headers' | 'body'> },
): BegunRequest {
  const { origin, target } = tool.source;
  const { use, token, because } = bearer;
  const { method } = request;
  const part = trace.begin('downstream', origin === null ? {} : { origin });
  const started_at = clock.now();
  const detail: NonNullable<TraceLine['detail']> = {
    credentials: use,
    method,
    path: maskTokens(request.path).slice(0, MAX_TRACED_PATH),
    source: nameOfSource(tool),
    ...(because === null ? {} : { default_because: because }),
  };
  return {
    traceparent: part.traceparent,
    end(end) {
      const status = typeof end === 'number' ? end : null;
      if (status !== null) detail.status = status;
      part.end({ ...judge(bearer, end), detail, took_ms: clock.now() - started_at });
      const credential = token && (target?.credential ?? null);
      watch?.({ method, ...request.shown(), credentials: use, credential, status });
    },
  };
}

/** The name under which requests are counted and traced. Modules and built-in tools call the business API. */
export function nameOfSource({ source: { kind, name } }: Tool): string {
  return kind === 'built-in' || kind === 'module' ? API : name;
}

function judge(
  { use, because }: Bearer,
  end: number | { failure: string },
): Pick<TraceLine, 'verdict' | 'reason'> {
  if (typeof end !== 'number') return { verdict: 'failed', reason: end.failure };
  if (end === 401 && use !== 'none') return { verdict: 'failed', reason: `${use}_token_refused` };
  // A 404 is a valid answer: the thing does not exist.
  if (end >= 400 && end !== 404) return { verdict: 'failed', reason: `http_${end}` };
  return because === null ? { verdict: 'ok' } : { verdict: 'fallback', reason: because };
}
