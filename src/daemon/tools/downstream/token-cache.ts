import { RecentMap } from '../../../channel/recent-map.ts';
import type { Secret } from '../../settings/secret.ts';
import type { Clock } from '../../time/clock.ts';
import { unlessAborted } from '../../time/time-limit.ts';

export type TokenFailureReason =
  | 'default_credentials_missing'
  | 'default_credentials_refused'
  | 'default_token_failed'
  | 'exchange_refused'
  | 'exchange_failed'
  | 'subject_expired';

/** There is no token. `message` is a text for the agent. */
export class TokenFailure extends Error {
  readonly reason: TokenFailureReason;

  constructor(reason: TokenFailureReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TokenFailure';
    this.reason = reason;
  }
}

/** A token, and the time until which it is used, ms since the epoch. */
interface CachedToken {
  token: Secret;
  use_until: number;
}

/** Keeps tokens in memory only, at most `max`: the least recently used token is dropped first. */
export class TokenCache {
  readonly #clock: Clock;
  /** In the order of their last use. */
  readonly #kept: RecentMap<string, CachedToken>;
  readonly #pending = new Map<string, Promise<Secret>>();

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#kept = new RecentMap(max);
  }

  /**
   * The cached token, or a new one. Callers that wait for the same token share one request; if one of them aborts, the
   * request continues for the others. A failure is not cached.
   */
  async get(
    key: string,
    signal: AbortSignal | undefined,
    obtain: () => Promise<CachedToken>,
  ): Promise<Secret> {
    signal?.throwIfAborted();
    const found = this.#kept.get(key);
    this.#kept.delete(key);
    if (found && this.#clock.now() < found.use_until) {
      this.#kept.set(key, found);
      return found.token;
    }
    let work = this.#pending.get(key);
    if (!work) {
      work = this.#obtain(key, obtain);
      this.#pending.set(key, work);
    }
    return signal ? unlessAborted(work, signal) : work;
  }

  /** Drops a token that was refused. Several calls may report the same one; a newer token is kept. */
  drop(token: Secret): void {
    for (const [key, entry] of this.#kept) if (entry.token === token) this.#kept.delete(key);
  }

  async #obtain(key: string, obtain: () => Promise<CachedToken>): Promise<Secret> {
    try {
      const made = await obtain();
      if (this.#clock.now() < made.use_until) this.#kept.set(key, made);
      return made.token;
    } finally {
      this.#pending.delete(key);
    }
  }
}
