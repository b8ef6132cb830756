import { maskTokens } from '../settings/secret.ts';
import type { Clock } from '../time/clock.ts';
import type { SpanSubject } from '../trace/span.ts';
import type { TraceWriter } from '../trace/trace.ts';
import type { TraceLine } from '../trace/trace-record.ts';
import type { Bearer } from './call-bearers.ts';
import { TOKEN_PATH } from './downstream/default-token.ts';
import type { Tool } from './tool.ts';

const MAX_TRACED_PATH = 200;

interface Begins {
  method: string;
  path: string;
}

/** A request that has begun. */
export interface BegunRequest {
  /** Value of the request's header `traceparent`; null if it has none. */
  readonly traceparent: string | null;
  /** Writes the trace line of the request. @param end the status of the answer; if there is none, the failure. */
  end(end: number | { failure: string }): void;
}

/** Writes the trace lines of the requests of one call. */
export class DownstreamLines {
  readonly #source: string;
  readonly #subject: SpanSubject;
  readonly #trace: TraceWriter;
  readonly #clock: Clock;

  constructor({ source }: Tool, trace: TraceWriter, clock: Clock) {
    // Modules and built-in tools call the business API.
    this.#source = source.kind === 'built-in' || source.kind === 'module' ? 'api' : source.name;
    this.#subject = source.origin === null ? {} : { origin: source.origin };
    this.#trace = trace;
    this.#clock = clock;
  }

  begin({ method, path }: Begins, bearer: Bearer): BegunRequest {
    const part = this.#trace.begin('downstream', this.#subject);
    const started_at = this.#clock.now();
    const detail: NonNullable<TraceLine['detail']> = {
      credentials: bearer.use,
      method,
      path: maskTokens(path).slice(0, MAX_TRACED_PATH),
      source: this.#source,
    };
    const { because } = bearer;
    if (because !== null) detail.default_because = because;
    return {
      traceparent: part.traceparent,
      end: (end) => {
        if (typeof end === 'number') detail.status = end;
        part.end({ ...verdictOf(bearer, end), detail, took_ms: this.#clock.now() - started_at });
      },
    };
  }

  loginFailed(reason: string): void {
    const detail = { credentials: 'default', method: 'POST', path: TOKEN_PATH };
    this.#note({ verdict: 'failed', reason, detail });
  }

  exchangeFailed(reason: string): void {
    this.#note({ verdict: 'failed', reason, detail: { credentials: 'exchange' } });
  }

  #note(line: Omit<TraceLine, 'at' | 'step'>): void {
    this.#trace.note({ step: 'downstream', ...line });
  }
}

function verdictOf(
  { use, because }: Bearer,
  end: number | { failure: string },
): Pick<TraceLine, 'verdict' | 'reason'> {
  if (typeof end !== 'number') return { verdict: 'failed', reason: end.failure };
  if (end === 401 && use !== 'none') return { verdict: 'failed', reason: `${use}_token_refused` };
  // A 404 is a valid answer: the thing does not exist.
  if (end >= 400 && end !== 404) return { verdict: 'failed', reason: `http_${end}` };
  return because === null ? { verdict: 'ok' } : { verdict: 'fallback', reason: because };
}
