import type { Kernel, Kind, Tx } from '../kernels/kernel.ts';
import { CLAIM_MS } from './claims.ts';

/**
 * A claim as it is stored. An expired claim is kept for a while, because until it is taken over its owner may renew it.
 */
export interface ClaimState {
  owner: string;
  expires_at: number;
}

/** A step that only takes, keeps or ends a claim. */
export const ONLY_CLAIMS = { onlyClaims: true } as const;

/** How long an expired claim is remembered, ms. */
const CLAIM_MEMORY_MS = 3_600_000;

/** Makes the steps that take, renew or give back claims. */
export function claimSteps(
  kernel: Kernel,
): <R>(work: (tx: Tx) => R, only?: typeof ONLY_CLAIMS) => Promise<R> {
  return (work, only) => kernel.step(work, { claims: true, ...only });
}

export function newClaim(tx: Tx): ClaimState {
  return { owner: tx.newOwner(), expires_at: claimTime(tx) + CLAIM_MS };
}

/** Whether nobody else may take the claim over. If the clock was set back, it is valid for `CLAIM_MS` from now. */
export function isValid(claim: ClaimState | null, tx: Tx): boolean {
  return claim !== null && claim.expires_at > claimTime(tx) && tx.isDead?.(claim.owner) !== true;
}

/** The claim, ending `CLAIM_MS` from now at the latest. The same object if it does. */
export function clamped(claim: ClaimState, tx: Tx): ClaimState {
  return claim.expires_at > claimTime(tx) + CLAIM_MS ? renewed(claim, tx) : claim;
}

export function renewed(claim: ClaimState, tx: Tx): ClaimState {
  return { ...claim, expires_at: claimTime(tx) + CLAIM_MS };
}

/** The time by which claims expire. */
export function claimTime({ now, steady = now }: Tx): number {
  return steady;
}

/** Claims that have a document of their own, by the tag of the session. */
export const SESSION_CLAIM: Kind<ClaimState & { kept_until: number }> = {
  name: 'session_claim',
  // Documents expire by the time of day, which may be far ahead of the clock of claims: after a sleep of the machine.
  expires: ({ kept_until }) => kept_until,
  isVolatile: true,
};

export function putSessionClaim(tx: Tx, session_tag: string, { owner, expires_at }: ClaimState): void {
  const kept_until = tx.now + CLAIM_MS + CLAIM_MEMORY_MS;
  tx.put(SESSION_CLAIM, session_tag, { owner, expires_at, kept_until });
}

/** Whether this owner still has the claim of the session. */
export function holdsSession(
  tx: Tx,
  { session_tag, owner }: { session_tag: string; owner: string },
): boolean {
  return tx.get(SESSION_CLAIM, session_tag)?.owner === owner;
}

/**
 * Whether this owner still has the claim of the session, which is stored anew with the step. Whoever takes the claim over
 * at the same time has then read either all that the step stores, or the step is not stored. A step needs it if it stores
 * documents that the next owner finds in an index.
 */
export function keepsSession(tx: Tx, claim: { session_tag: string; owner: string }): boolean {
  const found = tx.get(SESSION_CLAIM, claim.session_tag);
  if (found?.owner !== claim.owner) return false;
  putSessionClaim(tx, claim.session_tag, found);
  return true;
}

/** Takes the claim of a session. @returns the owner; null while another claim is valid. */
export function takeSession(tx: Tx, session_tag: string): string | null {
  const found = tx.get(SESSION_CLAIM, session_tag);
  if (found !== null && isValid(found, tx)) {
    const limited = clamped(found, tx);
    if (limited !== found) putSessionClaim(tx, session_tag, limited);
    return null;
  }
  const claim = newClaim(tx);
  putSessionClaim(tx, session_tag, claim);
  return claim.owner;
}
