import {
  createHmac,
  createPublicKey,
  createSecretKey,
  type KeyObject,
  timingSafeEqual,
  X509Certificate,
} from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Log } from '../process/log.ts';
import { misconfigured } from '../settings/problem.ts';
import { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';

/** The input of a signature check. */
export interface Signed {
  /** Header and payload as written, which are the signed text. */
  signed: string;
  /** The signature as written, in base64url. */
  signature: string;
  /** Which key of a set was used, according to the header. Not trusted. */
  kid: unknown;
  /** True for a logout token, for which a key set is fetched less often. */
  isLogout?: boolean;
}

/**
 * Whether a key fits a token. If there are several keys, the position of the first one that does, from 1, so that an
 * operator sees when an old key is no longer needed.
 */
export type KeyFit = boolean | number;

/** The keys that check signatures. Imported once at the start, since importing costs more than checking. */
export interface VerificationKeys {
  /**
   * Whether the token was signed with one of these keys. Each key is tried at most once. Called only for tokens
   * with the configured `alg`. Throws if this is not known because the key set cannot be reached.
   */
  verify(token: Signed): KeyFit | Promise<KeyFit>;
}

/**
 * Whether a token is signed with this secret (HS256). jose is not used, because its WebCrypto runs each check on
 * another thread. That costs three times as much, and messages that arrive together would be written separately, with a
 * sync of the disk for each.
 *
 * The signatures are compared in constant time, and as texts, because a signature has only one valid spelling (see
 * `isSignedWithKey`).
 */
function isSignedWithSecret(secret: KeyObject, { signed, signature }: Signed): boolean {
  const right = Buffer.from(createHmac('sha256', secret).update(signed).digest('base64url'));
  const given = Buffer.from(signature);
  return given.length === right.length && timingSafeEqual(given, right);
}

export type KeySettings = Pick<
  Settings,
  'JWT_ALGORITHM' | 'JWT_SECRET_KEY' | 'JWT_PUBLIC_KEY' | 'JWT_JWKS_URL' | 'JWT_VERIFY_SIGNATURE'
>;

/**
 * The keys that the settings name (agentd-identity(7), "Keys"). For RS256, the first of JWT_PUBLIC_KEY, JWT_JWKS_URL
 * and JWT_SECRET_KEY that is set is used; it may hold several keys. A key set is fetched when a token first needs it, not here.
 * @param log gets a warning when a fetched key set could not be renewed
 * @throws ConfigurationError
 */
export async function importKeys(settings: KeySettings, log?: Pick<Log, 'warn'>): Promise<VerificationKeys> {
  const { JWT_ALGORITHM, JWT_SECRET_KEY, JWT_PUBLIC_KEY } = settings;
  if (!settings.JWT_VERIFY_SIGNATURE) return { verify: () => false };
  if (JWT_ALGORITHM === 'HS256') return hmacKeys(JWT_SECRET_KEY);
  if (JWT_PUBLIC_KEY) return rsaKeys('JWT_PUBLIC_KEY', await publicKeys(JWT_PUBLIC_KEY));
  const keySet = keySetUrl(settings);
  if (keySet) {
    // Loaded only if needed: the library would take a fifth of the start time of every daemon.
    const { createKeySet } = await import('./jose.ts');
    return createKeySet(keySet, log);
  }
  if (JWT_SECRET_KEY) {
    const pems = listedKeys(JWT_SECRET_KEY.reveal());
    return rsaKeys('JWT_SECRET_KEY', pems.map(unescapeLines));
  }
  throw misconfigured('JWT_PUBLIC_KEY', 'is not set', 'RS256 needs it, or JWT_JWKS_URL');
}

/** The address of the key set that checks signatures; undefined if other keys do, or none. */
export function keySetUrl(settings: KeySettings): URL | undefined {
  const { JWT_ALGORITHM, JWT_PUBLIC_KEY, JWT_JWKS_URL, JWT_VERIFY_SIGNATURE } = settings;
  const isUsed = JWT_VERIFY_SIGNATURE && JWT_ALGORITHM === 'RS256' && !JWT_PUBLIC_KEY;
  return isUsed && JWT_JWKS_URL ? new URL(JWT_JWKS_URL) : undefined;
}

function hmacKeys(secret: Secret | undefined): VerificationKeys {
  const secrets = secret === undefined ? [] : sharedSecrets(secret);
  if (secrets.length === 0)
    throw misconfigured('JWT_SECRET_KEY', 'is not set', 'HS256 needs the signing secret');
  const keys = secrets.map((one) => createSecretKey(one.reveal(), 'utf8'));
  return {
    verify: (token) =>
      toKeyFit(
        keys.findIndex((key) => isSignedWithSecret(key, token)),
        keys,
      ),
  };
}

const PEM = 'give an RSA public key of 2048 bits or more as PEM (PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE)';

async function rsaKeys(setting: string, pems: readonly string[]): Promise<VerificationKeys> {
  expectFewKeys(setting, pems);
  const { isSignedWithKey, RSA_MIN_BITS } = await import('./jose.ts');
  const keys = pems.map((pem) => rsaKey(setting, pem, RSA_MIN_BITS));
  refuseChain(setting, pems);
  return {
    async verify(token) {
      for (const [at, key] of keys.entries())
        if (await isSignedWithKey(key, token)) return toKeyFit(at, keys);
      return false;
    },
  };
}

/** @param at the index of the key that fits; -1 if none does */
function toKeyFit(at: number, keys: readonly unknown[]): KeyFit {
  return keys.length > 1 && at !== -1 ? at + 1 : at !== -1;
}

function rsaKey(setting: string, pem: string, minBits: number): KeyObject {
  if (pem.includes('PRIVATE KEY-----')) {
    throw misconfigured(setting, 'contains a private key, which only the issuer may have', PEM);
  }
  const key = parsePem(setting, pem);
  if (key.asymmetricKeyType !== 'rsa') {
    throw misconfigured(setting, `contains a key of type ${key.asymmetricKeyType}`, PEM);
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < minBits) throw misconfigured(setting, `contains an RSA key of ${bits} bits`, PEM);
  return key;
}

/**
 * Refuses a certificate together with the certificate of its authority, as in a file of a web server: a token that is
 * signed with the key of the authority must not be valid.
 */
function refuseChain(setting: string, pems: readonly string[]): void {
  const certificates = pems
    .filter((pem) => pem.includes('CERTIFICATE-----'))
    .map((pem) => new X509Certificate(pem));
  const isIssued = certificates.some((one) =>
    certificates.some((other) => other !== one && one.checkIssued(other) && one.verify(other.publicKey)),
  );
  if (!isIssued) return;
  throw misconfigured(
    setting,
    'contains a certificate and the certificate of its authority',
    'give only the certificates of the keys that sign tokens',
  );
}

function parsePem(setting: string, pem: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (cause) {
    // Often it is the secret of HS256, which stayed when the algorithm was changed.
    const right =
      setting === SECRET_SETTING ? `${PEM}; or remove it, and set JWT_PUBLIC_KEY or JWT_JWKS_URL` : PEM;
    throw misconfigured(setting, 'contains no readable PEM', right, cause);
  }
}

/** The keys in JWT_PUBLIC_KEY: PEM blocks, and the blocks in the files that the other lines name. */
async function publicKeys(value: string): Promise<readonly string[]> {
  const listed = listedKeys(value);
  const keys = await Promise.all(
    listed.map(async (one) => (one.includes('-----BEGIN') ? [unescapeLines(one)] : pemsInFile(one.trim()))),
  );
  return keys.flat();
}

async function pemsInFile(path: string): Promise<readonly string[]> {
  try {
    const listed = listedKeys(await readFile(path, 'utf8'));
    // Programs write comments around a block.
    const blocks = listed.filter((one) => one.includes('-----BEGIN'));
    return blocks.length > 0 ? blocks.map(unescapeLines) : [''];
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw misconfigured(
      'JWT_PUBLIC_KEY',
      `is not PEM, and as a path it cannot be read (${code})`,
      PEM,
      cause,
    );
  }
}

/**
 * Replaces `\n` with line breaks. In an environment variable, PEM is often written on one line, with `\n` for each line
 * break.
 */
function unescapeLines(pem: string): string {
  return pem.replaceAll('\\n', '\n').trim();
}

/** Maximum number of keys in one setting. A wrong token is checked against each of them. */
const KEYS_MAX = 8;
/** A block may also be on one line, with `\n` for its line breaks. */
const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----/gs;

/**
 * The keys in a setting that may hold several, in their order: one per line, except that a PEM block is one key. Blank
 * lines are ignored; white space within a line belongs to the key.
 */
export function listedKeys(value: string): readonly string[] {
  const keys: string[] = [];
  let at = 0;
  for (const block of value.matchAll(PEM_BLOCK)) {
    keys.push(...splitLines(value.slice(at, block.index)), block[0]);
    at = block.index + block[0].length;
  }
  keys.push(...splitLines(value.slice(at)));
  return keys;
}

/** @throws ConfigurationError if there are too many keys */
function expectFewKeys(setting: string, { length }: readonly unknown[]): void {
  if (length <= KEYS_MAX) return;
  const right = `at most ${KEYS_MAX}, one per line; remove the keys that no valid token is signed with`;
  throw misconfigured(setting, `has ${length} keys`, right);
}

function splitLines(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.replaceAll('\\n', '').trim() !== '');
}

const SECRET_SETTING = 'JWT_SECRET_KEY';
/** A public key as PEM, for SSH, or as a JWK. */
const PUBLIC_KEY =
  /-----BEGIN [A-Z ]*(?:PUBLIC KEY|CERTIFICATE)-----|^\s*(?:ssh-|ecdsa-sha2-|sk-)\S+ AAAA|"kty"\s*:\s*"(?:RSA|EC|OKP)"/m;
/** The begin of a public key (SPKI) in base64, as it is without the lines of PEM, and the rest of it. */
const BARE_PUBLIC_KEY = /M[A-Za-z0-9+/]{40}[A-Za-z0-9+/\s]*={0,2}/g;
/** The first or last line of a PEM block whose other end is missing. */
const TORN_PEM = /^\s*-----(?:BEGIN|END) [A-Z0-9 ]+-----\s*$/;
const COMMENT = /^\s*#\s/;

/**
 * The HS256 secrets that are set, in their order. The first one signs the tokens that agentd issues itself.
 * @throws ConfigurationError if one of them is known to anybody
 */
export function sharedSecrets(secret: Secret): readonly Secret[] {
  const text = secret.reveal();
  if (PUBLIC_KEY.test(text) || holdsBarePublicKey(text)) {
    throw misconfigured(
      SECRET_SETTING,
      'is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
      'a secret that only the site and agentd know; or JWT_ALGORITHM=RS256, if the site signs with a private key',
    );
  }
  const keys = listedKeys(text);
  expectFewKeys(SECRET_SETTING, keys);
  if (keys.some((key) => TORN_PEM.test(key))) {
    throw misconfigured(
      SECRET_SETTING,
      'has a line that begins or ends a PEM block, which would be a secret that anybody knows',
      'one secret per line',
    );
  }
  if (keys.length > 1 && keys.some((key) => COMMENT.test(key))) {
    throw misconfigured(
      SECRET_SETTING,
      'has a line that begins with `# `, which would be a secret',
      'secrets only',
    );
  }
  return keys.map((key) => new Secret(key));
}

/** Whether a part of the text is a public key in base64, on one line or on several. */
function holdsBarePublicKey(text: string): boolean {
  return [...text.matchAll(BARE_PUBLIC_KEY)].some(([base64]) => {
    try {
      createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
      return true;
    } catch {
      // Any other secret in base64: it is not a key at all.
      return false;
    }
  });
}

/** The secret that signs. @throws ConfigurationError */
export function signingSecret(secret: Secret): Secret {
  const [first] = sharedSecrets(secret);
  if (first === undefined) throw misconfigured(SECRET_SETTING, 'is empty', 'HS256 needs the signing secret');
  return first;
}
