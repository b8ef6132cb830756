import { maskTokens, type Secret } from './secret.ts';
import { SECRET_SHOWN } from './value.ts';

/** Minimum length of a masked secret, in characters. A shorter secret could also occur in unrelated words. */
const SECRET_MIN = 6;

/** How a program may write a secret. */
interface Echoes {
  value: string;
  /** The texts that are masked. */
  forms: readonly string[];
  /** The characters of the secret that formats may escape one by one. */
  signs: string;
}

/** They are made once for each secret: an answer, or a recording, may have thousands of texts. */
const known = new WeakMap<Secret, Echoes>();

/**
 * Masks secrets in a text that agentd did not write, also in an encoding that everybody can undo: base64, hexadecimal,
 * percent-encoding, and the escapes of JSON and HTML.
 */
export function maskSecrets(text: string, secrets: readonly Secret[], shown: string = SECRET_SHOWN): string {
  let masked = text;
  for (const secret of secrets) {
    const { value, forms, signs } = echoesOf(secret);
    for (const form of forms) masked = masked.replaceAll(form, shown);
    const plain = signs === '' || !MAY_ESCAPE.test(masked) ? masked : unescaped(masked, signs);
    if (plain !== masked && plain.includes(value)) masked = plain.replaceAll(value, shown);
  }
  return masked;
}

/** Masks the credentials of a request that an API echoes, so that they do not reach the agent. */
export function maskEchoed(text: string, secrets: readonly Secret[]): string {
  return maskSecrets(text, secrets, '[token]');
}

function echoesOf(secret: Secret): Echoes {
  const found = known.get(secret) ?? listEchoes(secret.reveal().trim());
  known.set(secret, found);
  return found;
}

/**
 * Of a token also its signature: an API may echo a token in parts, and the others are only claims. Encoded tokens are
 * recognized by `maskTokens`.
 */
function listEchoes(value: string): Echoes {
  if (value.length < SECRET_MIN) return { value, forms: [], signs: '' };
  const [, , signature = '', ...further] = value.split('.');
  const ofToken = further.length > 0 || signature.length < SECRET_MIN ? [] : [signature];
  if (maskTokens(value) === '[token]') return { value, forms: [value, ...ofToken], signs: '' };
  const inAddress = encodeURIComponent(value.toWellFormed());
  const inHex = Buffer.from(value).toString('hex');
  const forms = new Set([
    ...[value, JSON.stringify(value).slice(1, -1), inHex, inHex.toUpperCase(), ...inBase64(value)],
    ...[inAddress, inAddress.replaceAll(/%../g, (code) => code.toLowerCase()), ...ofToken],
  ]);
  // Without the characters that mean something in JSON: the text may have to be parsed yet.
  return { value, forms: [...forms], signs: value.replace(/[\w\s"\\]/g, '') };
}

/** The base64 of a text within longer base64 in either alphabet, at each of its three positions. */
function inBase64(text: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    // The characters at both ends depend on what is beside them.
    const [from, to] = [Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3)];
    return (['base64', 'base64url'] as const).map((alphabet) => bytes.toString(alphabet).slice(from, to));
  });
}

/** How an escape begins. */
const MAY_ESCAPE = /[\\%&]/;
/**
 * Escapes of JSON, percent-encoding and HTML, also one within another. They are counted, because otherwise many
 * backslashes would take a long time.
 */
const ESCAPE =
  /\\{1,8}(?:u([0-9a-f]{4})|([^\w\\]))|%(?:25){0,3}([0-7][0-9a-f])|&(?:amp;){0,3}(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|apos));/gi;
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', apos: "'" };

/** The text with these signs as they are, where they are escaped. */
function unescaped(text: string, signs: string): string {
  return text.replace(ESCAPE, (whole, ...parts: (string | undefined)[]) => {
    const [unit, sign, byte, decimal, hex = unit ?? byte, name = ''] = parts;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    const plain = sign ?? NAMED[name.toLowerCase()] ?? String.fromCodePoint(code <= 0x10ffff ? code : 0);
    return signs.includes(plain) ? plain : whole;
  });
}
