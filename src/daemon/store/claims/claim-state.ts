import type { Kind, Tx } from '../kernels/kernel.ts';
import { CLAIM_MS, type SessionPlace } from './claims.ts';

/**
 * A claim as it is stored. An expired claim is kept for a while, because until it is taken over its owner may renew it.
 */
export interface ClaimState {
  owner: string;
  expires_at: number;
}

/** A step that takes, renews or gives back a claim. */
export const CLAIMS = { claims: true } as const;

/** A step that does only that. */
export const ONLY_CLAIMS = { ...CLAIMS, onlyClaims: true } as const;

/** How long an expired claim is remembered, ms. */
const CLAIM_MEMORY_MS = 3_600_000;

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

/** The claim of a session, and the messages that wait for it. */
interface SessionClaimState extends ClaimState {
  /** The daemon that has the claim; absent if it was taken without a place. */
  daemon?: string;
  /** Absent if no message waits. */
  line?: SessionLine;
}

/** What is left of a claim that has ended while messages wait. */
const ENDED: SessionClaimState = { owner: '', expires_at: 0 };

/** Claims that have a document of their own, by the tag of the session. */
export const SESSION_CLAIM: Kind<SessionClaimState & { kept_until: number }> = {
  name: 'session_claim',
  // Documents expire by the time of day, which may be far ahead of the clock of claims: after a sleep of the machine.
  expires: ({ kept_until }) => kept_until,
  isVolatile: true,
};

export function putSessionClaim(tx: Tx, session_tag: string, { line, ...claim }: SessionClaimState): void {
  const kept_until = tx.now + CLAIM_MS + CLAIM_MEMORY_MS;
  tx.put(SESSION_CLAIM, session_tag, { ...claim, ...(line?.length ? { line } : {}), kept_until });
}

/** Renews the claim of a session, and the places of the messages that wait at the same daemon. */
export function renewSession(tx: Tx, session_tag: string, claim: SessionClaimState): void {
  const line = livingPlaces(claim.line, claimTime(tx));
  const { daemon } = claim;
  const kept = daemon === undefined ? line : renewedPlaces(line, daemon, claimTime(tx));
  putSessionClaim(tx, session_tag, { ...renewed(claim, tx), line: kept });
}

/** Ends the claim of a session. The messages that wait for it keep their places. */
export function endSessionClaim(tx: Tx, session_tag: string): void {
  const line = livingPlaces(tx.get(SESSION_CLAIM, session_tag)?.line, claimTime(tx));
  if (line.length === 0) tx.delete(SESSION_CLAIM, session_tag);
  else putSessionClaim(tx, session_tag, { ...ENDED, line });
}

/** Puts a message at the end of the line, unless it has a place. */
export function waitForSession(tx: Tx, session_tag: string, place: SessionPlace): void {
  const found = tx.get(SESSION_CLAIM, session_tag) ?? ENDED;
  const line = livingPlaces(found.line, claimTime(tx));
  putSessionClaim(tx, session_tag, { ...found, line: withPlace(line, place, claimTime(tx)) });
}

/** The message waits no longer. */
export function leaveSession(tx: Tx, session_tag: string, place: SessionPlace): void {
  const found = tx.get(SESSION_CLAIM, session_tag);
  if (found?.line) putSessionClaim(tx, session_tag, { ...found, line: withoutPlace(found.line, place) });
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

/**
 * Takes the claim of a session.
 * @param place absent: the messages that wait are passed.
 * @returns the owner. Null while another claim is valid, or the message of another daemon is the next: the message then
 *   waits at its place.
 */
export function takeSession(tx: Tx, session_tag: string, place?: SessionPlace): string | null {
  const found = tx.get(SESSION_CLAIM, session_tag);
  const living = livingPlaces(found?.line, claimTime(tx));
  const line = place ? withoutEarlier(living, place) : living;
  if (found !== null && (isValid(found, tx) || !isTurnOf(place, line))) {
    const limited = clamped(found, tx);
    const waiting = place ? withPlace(line, place, claimTime(tx)) : line;
    if (limited !== found || waiting !== living)
      putSessionClaim(tx, session_tag, { ...limited, line: waiting });
    return null;
  }
  const claim = newClaim(tx);
  const taken = place ? { daemon: place.daemon, line: withoutPlace(line, place) } : { line };
  putSessionClaim(tx, session_tag, { ...claim, ...taken });
  return claim.owner;
}

/**
 * The messages that wait for a session, at all daemons, in the order of arrival. A daemon renews the places of its
 * messages as long as it lives. Times are those of claims (`claimTime`), ms.
 */
type SessionLine = readonly Waiting[];

interface Waiting extends SessionPlace {
  readonly expires_at: number;
}

/** A place with less than this left is renewed, ms: not each time that its daemon asks for the session. */
const RENEW_BELOW_MS = (2 * CLAIM_MS) / 3;

const NOBODY: SessionLine = [];

/**
 * The places that have not expired; the same line if none has. A place that is valid for longer than `CLAIM_MS` is
 * dropped, too: the clock was set back.
 */
function livingPlaces(line: SessionLine = NOBODY, now: number): SessionLine {
  const lives = ({ expires_at }: Waiting) => expires_at > now && expires_at <= now + CLAIM_MS;
  return line.every(lives) ? line : line.filter(lives);
}

/** Whether no message of another daemon is the next. A daemon knows itself which of its messages is the next. */
function isTurnOf(place: SessionPlace | undefined, [next]: SessionLine): boolean {
  return !place || next === undefined || next.daemon === place.daemon;
}

/**
 * The line without places that earlier messages of the daemon have left behind; the same line if there are none. A
 * daemon's messages ask for the session in their order.
 */
function withoutEarlier(line: SessionLine, place: SessionPlace): SessionLine {
  const isLeft = ({ daemon, message }: Waiting) => daemon === place.daemon && message < place.message;
  return line.some(isLeft) ? line.filter((waiting) => !isLeft(waiting)) : line;
}

/** The line with the message, which keeps its place if it has one, and with renewed places of its daemon. */
function withPlace(line: SessionLine, place: SessionPlace, now: number): SessionLine {
  const isIn = line.some((waiting) => isSame(waiting, place));
  return renewedPlaces(isIn ? line : [...line, { ...place, expires_at: now + CLAIM_MS }], place.daemon, now);
}

function withoutPlace(line: SessionLine, place: SessionPlace): SessionLine {
  return line.filter((waiting) => !isSame(waiting, place));
}

/** The line with renewed places of the daemon; the same line if none has to be renewed yet. */
function renewedPlaces(line: SessionLine, daemon: string, now: number): SessionLine {
  const isDue = (place: Waiting) => place.daemon === daemon && place.expires_at < now + RENEW_BELOW_MS;
  if (!line.some(isDue)) return line;
  return line.map((place) => (place.daemon === daemon ? { ...place, expires_at: now + CLAIM_MS } : place));
}

function isSame(one: SessionPlace, other: SessionPlace): boolean {
  return one.daemon === other.daemon && one.message === other.message;
}
