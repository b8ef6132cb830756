import { hash, timingSafeEqual } from 'node:crypto';
import { isObject } from './json-object.ts';
import type { ConfirmationAnswer } from './message.ts';

/** Matches the button and the id of the action. */
const PAYLOAD = /^agentd:(yes|no):([A-Za-z0-9_-]{1,52})$/;

/** The payload that a button returns when it is pressed: at most 64 ASCII characters, which every platform supports. */
export function pressPayload(id: string, approve: boolean): string {
  return `agentd:${approve ? 'yes' : 'no'}:${id}`;
}

/**
 * Reads the answer from the payload of a button. Returns null if the button does not belong to a question. The daemon
 * must check the answer, because the payload is untrusted.
 */
export function readPressPayload(payload: unknown): ConfirmationAnswer | null {
  const [, word, id] = (typeof payload === 'string' && PAYLOAD.exec(payload)) || [];
  return id === undefined ? null : { id, approve: word === 'yes' };
}

/** A payload, or a part of it, that has not been checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** The members of an object; empty for any other value. */
export function asFields(value: unknown): Fields {
  return isObject(value) ? value : {};
}

/** The objects of a list; empty for any other value. */
export function asObjects(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Maximum difference between the clocks of a platform and of this machine in either direction, seconds. */
const CLOCK_SECONDS = 300;

/**
 * Whether a signed time is at most five minutes in the past or the future, so that a recorded delivery cannot be sent
 * again later.
 * @param timestamp seconds since the epoch, as in a header
 * @param now ms since the epoch
 */
export function isRecent(timestamp: string, now: number): boolean {
  return (
    /^\d{1,12}$/.test(timestamp) && Math.abs(Math.floor(now / 1000) - Number(timestamp)) <= CLOCK_SECONDS
  );
}

/** Compares two secrets or signatures of any length. The time reveals nothing about either. */
export function isSameSecret(given: string, right: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(given), digest(right));
}

/** The media type of a route with `body: 'multipart'`. */
export const MULTIPART = 'multipart/form-data';
/** Maximum number of parts in one body. */
export const PARTS_MAX = 100;

/** The parts of a body (RFC 7578). Null if it is not well-formed, or has too many parts. */
export async function readMultipart(type: string | undefined, body: Uint8Array): Promise<FormData | null> {
  const boundary = /;\s*boundary="?([^";]+)/i.exec(type ?? '')?.[1]?.trim();
  if (type === undefined || boundary === undefined || hasMore(body, `--${boundary}`, PARTS_MAX + 1))
    return null;
  try {
    return await new Response(Buffer.from(body), { headers: { 'Content-Type': type } }).formData();
  } catch {
    // The parser has no other errors: the bytes are in memory.
    return null;
  }
}

/** Whether the body has more than `most` delimiters. Each part begins with one, and the last one ends the body. */
function hasMore(body: Uint8Array, delimiter: string, most: number): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  let count = 0;
  for (let at = bytes.indexOf(delimiter); at !== -1; at = bytes.indexOf(delimiter, at + delimiter.length)) {
    if (++count > most) return true;
  }
  return false;
}
