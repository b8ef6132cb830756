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
