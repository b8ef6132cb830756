import { CLAIM_MS, type SessionPlace } from './claims.ts';

/**
 * The messages that wait for a session, at all daemons, in the order of arrival. A daemon renews the places of its
 * messages as long as it lives. Times are those of claims (`claimTime`), ms.
 */
export type SessionLine = readonly Waiting[];

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
export function livingPlaces(line: SessionLine = NOBODY, now: number): SessionLine {
  const lives = ({ expires_at }: Waiting) => expires_at > now && expires_at <= now + CLAIM_MS;
  return line.every(lives) ? line : line.filter(lives);
}

/** Whether no message of another daemon is the next. A daemon knows itself which of its messages is the next. */
export function isTurnOf(place: SessionPlace | undefined, [next]: SessionLine): boolean {
  return !place || next === undefined || next.daemon === place.daemon;
}

/**
 * The line without places that earlier messages of the daemon have left behind; the same line if there are none. A
 * daemon's messages ask for the session in their order.
 */
export function withoutEarlier(line: SessionLine, place: SessionPlace): SessionLine {
  const isLeft = ({ daemon, message }: Waiting) => daemon === place.daemon && message < place.message;
  return line.some(isLeft) ? line.filter((waiting) => !isLeft(waiting)) : line;
}

/** The line with the message, which keeps its place if it has one, and with renewed places of its daemon. */
export function withPlace(line: SessionLine, place: SessionPlace, now: number): SessionLine {
  const isIn = line.some((waiting) => isSame(waiting, place));
  return renewedPlaces(isIn ? line : [...line, { ...place, expires_at: now + CLAIM_MS }], place.daemon, now);
}

export function withoutPlace(line: SessionLine, place: SessionPlace): SessionLine {
  return line.filter((waiting) => !isSame(waiting, place));
}

/** The line with renewed places of the daemon; the same line if none has to be renewed yet. */
export function renewedPlaces(line: SessionLine, daemon: string, now: number): SessionLine {
  const isDue = (place: Waiting) => place.daemon === daemon && place.expires_at < now + RENEW_BELOW_MS;
  if (!line.some(isDue)) return line;
  return line.map((place) => (place.daemon === daemon ? { ...place, expires_at: now + CLAIM_MS } : place));
}

function isSame(one: SessionPlace, other: SessionPlace): boolean {
  return one.daemon === other.daemon && one.message === other.message;
}
