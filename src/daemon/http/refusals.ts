import { randomUUID } from 'node:crypto';
import { AgentdError, type ErrorCode } from '../errors.ts';
import type { Log } from '../process/log.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../time/clock.ts';
import type { Middleware } from './exchange.ts';

/**
 * Maximum number of traces that wait for the store. Further traces are dropped, so that a flood of refusals does not
 * burden the store.
 */
const PENDING_MAX = 100;

/** Maximum number of traces that are written per second on average, and maximum number that are written at once. */
const WRITES_PER_SECOND = 20;
const WRITES_AT_ONCE = 100;

/** How often losses are logged, ms. Traces are lost only in large numbers, so one line counts them. */
const REPORT_INTERVAL_MS = 60_000;

/** Problems that end a request before it becomes a turn. Other requests leave the trace of their turn. */
const BEFORE_A_TURN: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'body_too_large',
  'unsupported_media_type',
  'malformed_json',
  'invalid_request',
]);

/**
 * Problems that end a request to read or stop an answer. A request of this kind never becomes a turn. The client must
 * know the id of a stream to get one of these problems, so strangers cannot fill the store with traces.
 */
const WITHOUT_A_TURN: ReadonlySet<ErrorCode> = new Set(['token_missing', 'forbidden']);

interface RefusedRequest {
  request_id: string;
  /** Whether the request would have become a message, and so counts for the rate limit. */
  limited: boolean;
  /** The channel that received it. */
  channel: string;
  /** ms since the epoch. */
  started_at: number;
  error: unknown;
}

/** If the middleware below refuses a request to a channel, passes it to `refusals`, which may keep a trace of it. */
export function keepRefusals(refusals: Refusals, clock: Clock): Middleware {
  return async (ctx, next) => {
    const started_at = clock.now();
    try {
      await next();
    } catch (error) {
      const { limited = false, channel = null } = ctx.state.found.route ?? {};
      if (channel !== null)
        refusals.keep({ request_id: ctx.state.request_id, limited, channel, started_at, error });
      throw error;
    }
  };
}

interface RefusalParts {
  store: Pick<Store, 'traces'>;
  clock: Clock;
  log: Log;
  /** The digest of instructions, tools and model. */
  agentDigest: () => string;
}

/**
 * Keeps a trace of each request that was refused before it had a session, so that it can be found by its request id.
 * The number and the rate of these traces are limited, and losses are logged. No request waits for its trace or fails
 * because of it.
 */
export class Refusals {
  readonly #parts: RefusalParts;
  readonly #monotonic: () => number;
  #pending = 0;
  /** Number of traces that may be written now. */
  #allowance = WRITES_AT_ONCE;
  #allowed_at: number;
  #lost = 0;
  #reported_at = Number.NEGATIVE_INFINITY;

  /** @param monotonic a time in ms that cannot be set back */
  constructor(parts: RefusalParts, monotonic = () => performance.now()) {
    this.#parts = parts;
    this.#monotonic = monotonic;
    this.#allowed_at = monotonic();
  }

  keep({ request_id, limited, channel, started_at, error }: RefusedRequest): void {
    const kept = limited ? BEFORE_A_TURN : WITHOUT_A_TURN;
    if (!(error instanceof AgentdError) || !kept.has(error.code)) return;
    if (this.#pending >= PENDING_MAX || !this.#takeAllowance()) {
      this.#lose();
      return;
    }
    this.#pending++;
    const now = this.#parts.clock.now();
    this.#parts.store.traces
      .keepRefused({
        turn_id: randomUUID(),
        request_id,
        session_id: null,
        message_id: null,
        platform: channel,
        user_id: null,
        agent_digest: this.#parts.agentDigest(),
        started_at,
        finished_at: now,
        outcome: error.code,
        lines: [
          {
            at: now,
            step: 'receive',
            verdict: 'refused',
            reason: error.code,
            detail: { message: error.message },
          },
        ],
      })
      .then(
        () => this.#report(),
        (cause: unknown) => this.#lose(cause),
      )
      .finally(() => this.#pending--);
  }

  #takeAllowance(): boolean {
    const now = this.#monotonic();
    const earned = ((now - this.#allowed_at) / 1000) * WRITES_PER_SECOND;
    this.#allowance = Math.min(WRITES_AT_ONCE, this.#allowance + earned);
    this.#allowed_at = now;
    if (this.#allowance < 1) return false;
    this.#allowance--;
    return true;
  }

  #lose(cause?: unknown): void {
    this.#lost++;
    this.#report(cause);
  }

  #report(cause?: unknown): void {
    const now = this.#monotonic();
    if (this.#lost === 0 || now - this.#reported_at < REPORT_INTERVAL_MS) return;
    this.#parts.log.warn({ lost: this.#lost, err: cause }, 'traces of refused requests were not stored');
    this.#lost = 0;
    this.#reported_at = now;
  }
}
