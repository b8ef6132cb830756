/** A secret that is looked for in everything that leaves a daemon. */
export interface Canary {
  name: string;
  value: string;
}

/** Shortest part of a token's signature that counts as the token: more than a display of its beginning. */
const SIGNATURE_PART = 16;

/** A token's canaries: its payload and its signature, since the header of all tokens is the same. */
export function tokenCanaries(name: string, token: string): Canary[] {
  const [, payload = '', signature = ''] = token.split('.');
  const parts = [{ name: `payload of ${name}`, value: payload }];
  if (signature.length >= SIGNATURE_PART) {
    parts.push({ name: `signature of ${name}`, value: signature.slice(0, SIGNATURE_PART) });
    parts.push({ name: `end of the signature of ${name}`, value: signature.slice(-SIGNATURE_PART) });
  }
  return parts;
}

/** Where which canary turned up, in which writing; nothing where none did. */
export function findCanaries(canaries: readonly Canary[], places: ReadonlyMap<string, Buffer>): string[] {
  return canaries.flatMap(({ name, value }) =>
    writingsOf(value).flatMap(([writing, text]) =>
      [...places]
        .filter(([, content]) => content.includes(text))
        .map(([place]) => `${name} (${writing}) in ${place}`),
    ),
  );
}

/** The ways in which a text may be written in another: as it is, escaped, or as a part of what was encoded. */
function writingsOf(value: string): [writing: string, text: string][] {
  const bytes = Buffer.from(value);
  const writings: [string, string][] = [
    ['as it is', value],
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

/** The characters of base64 that depend on these bytes alone, so many bytes after a border of three. */
function base64Within(bytes: Buffer, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '');
  const wholeAtEnd = (offset + bytes.length) % 3 === 0;
  return encoded.slice(offset === 0 ? 0 : offset + 1, wholeAtEnd ? undefined : -1);
}
