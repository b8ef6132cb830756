import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { AgentdError, type ErrorCode } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';

/** Traces that may wait for the store; more are dropped, since a flood of refusals must cost nothing. */
const PENDING_MAX = 100;

/** What ends a request before it becomes a turn; all else leaves the trace of its turn. */
const BEFORE_A_TURN: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'body_too_large',
  'unsupported_media_type',
  'malformed_json',
  'invalid_request',
]);

/**
 * What ends a request that only wants to read or stop an answer, and so leaves no turn. Whoever gets one of these
 * knows the id of a stream, so that strangers cannot fill the store with them.
 */
const WITHOUT_A_TURN: ReadonlySet<ErrorCode> = new Set(['token_missing', 'forbidden']);

export interface RefusedRequest {
  request_id: string;
  /** It would have become a message, as what counts for the rate limit does. */
  limited: boolean;
  /** The channel that it came by. */
  channel: string;
  /** ms since the epoch. */
  started_at: number;
  error: unknown;
}

/**
 * Keeps a trace of each request that was refused before it had a session, so that it is found by its request
 * id (decisions §3). Nobody waits for it, and its failure is nobody's but the log's.
 */
export class Refusals {
  readonly #store: Pick<Store, 'traces'>;
  readonly #clock: Clock;
  readonly #log: Log;
  #pending = 0;
  #lost = 0;

  constructor(store: Pick<Store, 'traces'>, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  keep({ request_id, limited, channel, started_at, error }: RefusedRequest): void {
    const kept = limited ? BEFORE_A_TURN : WITHOUT_A_TURN;
    if (!(error instanceof AgentdError) || !kept.has(error.code)) return;
    if (this.#pending >= PENDING_MAX) {
      this.#lose();
      return;
    }
    this.#pending++;
    const now = this.#clock.now();
    this.#store.traces
      .keep({
        turn_id: randomUUID(),
        request_id,
        session_id: null,
        message_id: null,
        platform: channel,
        user_id: null,
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
        () => this.#kept(),
        (cause: unknown) => this.#lose(cause),
      )
      .finally(() => this.#pending--);
  }

  #kept(): void {
    if (this.#lost > 0)
      this.#log.warn({ lost: this.#lost }, 'traces of refused requests are kept again; some were lost');
    this.#lost = 0;
  }

  /** Told once, until they are kept again: what loses traces loses many. */
  #lose(cause?: unknown): void {
    this.#lost++;
    if (this.#lost === 1) this.#log.warn({ err: cause }, 'traces of refused requests are being lost');
  }
}
