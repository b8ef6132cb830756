/** A secret that is looked for in everything that leaves a daemon. */
export interface Canary {
  name: string;
  value: string;
}

/** Minimum length of the part of a signature that counts as the token: more than a log line shows of its beginning. */
const SIGNATURE_PART = 16;

/** A token's canaries: its payload and its signature, since all tokens have the same header. */
export function tokenCanaries(name: string, token: string): Canary[] {
  const [, payload = '', signature = ''] = token.split('.');
  const parts = [{ name: `payload of ${name}`, value: payload }];
  if (signature.length >= SIGNATURE_PART) {
    parts.push({ name: `signature of ${name}`, value: signature.slice(0, SIGNATURE_PART) });
    parts.push({ name: `end of the signature of ${name}`, value: signature.slice(-SIGNATURE_PART) });
  }
  return parts;
}

/** Where each canary was found, and in which encoding; empty if none was found. */
export function findCanaries(canaries: readonly Canary[], places: ReadonlyMap<string, Buffer>): string[] {
  return canaries.flatMap(({ name, value }) =>
    writingsOf(value).flatMap(([writing, text]) =>
      [...places]
        .filter(([, content]) => content.includes(text))
        .map(([place]) => `${name} (${writing}) in ${place}`),
    ),
  );
}

/** The ways in which a text may be part of another one: unchanged, escaped, or as a part of encoded data. */
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

/** The base64 characters that depend only on these bytes, if they start this many bytes after a multiple of three. */
function base64Within(bytes: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '');
  const wholeAtEnd = (offset + bytes.length) % 3 === 0;
  return encoded.slice(offset === 0 ? 0 : offset + 1, wholeAtEnd ? undefined : -1);
}
