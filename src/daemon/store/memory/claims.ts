import { type Clock, randomSuffix } from '../../clock.ts';
import { CLAIM_MS } from '../claims.ts';
import type { StoredClaim } from './state.ts';

/** The claims of one kind, by the name of the claimed thing. */
export class Claims {
  readonly #stored: Map<string, StoredClaim>;
  readonly #clock: Clock;

  constructor(stored: Map<string, StoredClaim>, clock: Clock) {
    this.#stored = stored;
    this.#clock = clock;
  }

  /** Whether the claim exists and has not expired, so that nobody may take it over. */
  isValid(name: string): boolean {
    const claim = this.#stored.get(name);
    if (!claim) return false;
    const now = this.#clock.now();
    // If the clock was set back, the claim must not be valid for longer than CLAIM_MS.
    claim.expires_at = Math.min(claim.expires_at, now + CLAIM_MS);
    return claim.expires_at > now;
  }

  /** Takes a claim, unless somebody holds a valid claim. @returns the new owner; null if the claim is held. */
  take(name: string): string | null {
    if (this.isValid(name)) return null;
    const owner = randomSuffix();
    this.#stored.set(name, { owner, expires_at: this.#clock.now() + CLAIM_MS });
    return owner;
  }

  /** Whether this owner still has the claim. An expired claim is kept until somebody takes it over. */
  isHeld(name: string, owner: string): boolean {
    return this.#stored.get(name)?.owner === owner;
  }

  renew(name: string, owner: string): boolean {
    if (!this.isHeld(name, owner)) return false;
    this.#stored.set(name, { owner, expires_at: this.#clock.now() + CLAIM_MS });
    return true;
  }

  release(name: string, owner: string): void {
    if (this.isHeld(name, owner)) this.end(name);
  }

  /** Ends the claim, regardless of its owner. */
  end(name: string): void {
    this.#stored.delete(name);
  }

  exists(name: string): boolean {
    return this.#stored.has(name);
  }
}
