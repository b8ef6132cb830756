import type { Log } from '../../process/log.ts';
import type { AlarmClock } from '../../time/clock.ts';
import { LiveSet } from '../../time/live-map.ts';
import type { Cancellation } from '../../time/time-limit.ts';
import { ClaimLost } from '../failures.ts';
import { CLAIM_MS, type Claim } from './claims.ts';

/** How often claims are renewed, ms. A claim does not expire if a single renewal fails. */
const RENEW_MS = CLAIM_MS / 3;

interface Renews<C extends Claim> {
  renew(claim: C): Promise<boolean>;
}

interface Held {
  readonly renew: () => Promise<boolean>;
  readonly lost: Cancellation;
  isBeingRenewed: boolean;
}

/**
 * Renews the claims that this daemon holds: of sessions, idempotency keys, streams and messages of the inbox. While the
 * store cannot be reached, a claim still counts as held. If the store no longer knows a claim, the claim is lost.
 */
export class ClaimKeeper {
  readonly #clock: AlarmClock;
  readonly #log: Pick<Log, 'info' | 'warn'>;
  readonly #held = new LiveSet<Held>();
  #cancel: (() => void) | null = null;

  constructor(clock: AlarmClock, log: Pick<Log, 'info' | 'warn'>) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The number of claims that are held now. */
  get size(): number {
    return this.#held.size;
  }

  /**
   * Renews a claim until it is dropped.
   * @param lost ended with `ClaimLost` when a renewal finds that the claim is gone.
   * @returns a function that drops the claim, so that it is no longer renewed.
   */
  hold<C extends Claim>(claim: C, port: Renews<C>, lost: Cancellation): () => void {
    const held: Held = { renew: () => port.renew(claim), lost, isBeingRenewed: false };
    this.#held.add(held);
    this.#cancel ??= this.#renewLater();
    return () => this.#held.delete(held);
  }

  /** Stops renewing claims. */
  stop(): void {
    this.#cancel?.();
    this.#held.clear();
  }

  #renewLater(): () => void {
    return this.#clock.after(RENEW_MS, () => {
      this.#cancel = this.#held.size > 0 ? this.#renewLater() : null;
      for (const held of this.#held) if (!held.isBeingRenewed) void this.#renew(held);
    });
  }

  async #renew(held: Held): Promise<void> {
    held.isBeingRenewed = true;
    try {
      const isHeld = await held.renew();
      // If the claim was dropped during the renewal, it is not lost: the renewal failed because the claim had ended.
      if (isHeld || !this.#held.delete(held)) return;
      this.#log.info({}, 'a claim was lost; its run is stopped without a result');
      held.lost.end(() => new ClaimLost());
    } catch (error) {
      this.#log.warn({ err: error }, 'could not renew a claim; will try again');
    } finally {
      held.isBeingRenewed = false;
    }
  }
}
