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

/**
 * How long a platform asks to wait, for `ChannelScope.deliveryFailed`: `Retry-After` in seconds or as a date (RFC
 * 9110 §10.2.3).
 * @param headers headers of the response, for example of a 429 or a 503
 * @returns whole seconds, 0 or more; undefined if there is no readable value
 */
export function retryAfterSeconds(headers: Headers): number | undefined {
  const words = headers.get('Retry-After')?.trim();
  if (words === undefined) return undefined;
  if (/^\d{1,9}$/.test(words)) return Number(words);
  const at = Date.parse(words);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000));
}
