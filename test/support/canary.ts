/** A secret that tests search for in everything that leaves a daemon. */
export interface Canary {
  name: string;
  value: string;
}

/**
 * The length of each part of a signature that is a canary. It is longer than the part of a token that the daemon may
 * log.
 */
const SIGNATURE_PART = 16;

/**
 * A token's canaries: its payload, and both ends of its signature. The header is not a canary, because it is the same
 * in all tokens.
 */
export function tokenCanaries(name: string, token: string): Canary[] {
  const [, payload = '', signature = ''] = token.split('.');
  const parts = [{ name: `payload of ${name}`, value: payload }];
  if (signature.length >= SIGNATURE_PART) {
    parts.push({ name: `signature of ${name}`, value: signature.slice(0, SIGNATURE_PART) });
    parts.push({ name: `end of the signature of ${name}`, value: signature.slice(-SIGNATURE_PART) });
  }
  return parts;
}

/** Lists where each canary was found, and in which encoding. Empty if none was found. */
export function findCanaries(canaries: readonly Canary[], places: ReadonlyMap<string, Buffer>): string[] {
  return canaries.flatMap(({ name, value }) =>
    writingsOf(value).flatMap(([writing, text]) =>
      [...places]
        .filter(([, content]) => content.includes(text))
        .map(([place]) => `${name} (${writing}) in ${place}`),
    ),
  );
}

/** The forms in which a text may contain this value: unchanged, escaped, or encoded. */
function writingsOf(value: string): [writing: string, text: string][] {
  const bytes = Buffer.from(value);
  const writings: [string, string][] = [
    ['unchanged', value],
    ['in JSON', JSON.stringify(value).slice(1, -1)],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(value)).slice(3, -3)],
    ['URL-encoded', encodeURIComponent(value)],
    ['form-encoded', new URLSearchParams([['', value]]).toString().slice(1)],
    ['hexadecimal', bytes.toString('hex')],
  ];
  for (const offset of [0, 1, 2]) {
    const text = base64Within(bytes, offset);
    writings.push(['base64', text], ['base64url', text.replaceAll('+', '-').replaceAll('/', '_')]);
  }
  return writings;
}

/** The base64 characters that depend only on these bytes, if they begin at `offset` modulo 3 in the encoded data. */
function base64Within(bytes: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '');
  const wholeAtEnd = (offset + bytes.length) % 3 === 0;
  return encoded.slice(offset === 0 ? 0 : offset + 1, wholeAtEnd ? undefined : -1);
}
