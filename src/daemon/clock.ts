import { randomBytes } from 'node:crypto';

/** Time and chance behind a port, so that tests can fix them. */
export interface Clock {
  /** ms since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** 128 random bits, base64url (22 characters): secret enough to act as a capability (decisions §3). */
export function randomSuffix(): string {
  return randomBytes(16).toString('base64url');
}
