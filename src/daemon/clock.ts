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

/**
 * A UUID that sorts by the time of its making (RFC 9562 §5.7): rows with such keys are written side by
 * side, where random ones would touch a page each.
 */
export function timeOrderedId(now: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
