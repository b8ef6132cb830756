import { createPublicKey, createSecretKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Log } from '../process/log.ts';
import type { Secret } from '../settings/secret.ts';
import type { Settings } from '../settings/settings.ts';
import { expectFewKeys, listedKeys } from './listed-keys.ts';
import { sharedSecrets } from './shared-secrets.ts';
import { isSignedWithSecret, type KeyFit, type VerificationKeys } from './signature.ts';
import { UnusableKey } from './unusable-key.ts';

export type KeySettings = Pick<
  Settings,
  'JWT_ALGORITHM' | 'JWT_SECRET_KEY' | 'JWT_PUBLIC_KEY' | 'JWT_JWKS_URL' | 'JWT_VERIFY_SIGNATURE'
>;

/**
 * The keys that the settings name (agentd-identity(7), "Keys"). For RS256, the first of JWT_PUBLIC_KEY, JWT_JWKS_URL
 * and JWT_SECRET_KEY that is set is used; it may hold several keys. A key set is fetched when a token first needs it, not here.
 * @param log gets a warning when a fetched key set could not be renewed
 * @throws UnusableKey
 */
export async function importKeys(settings: KeySettings, log?: Pick<Log, 'warn'>): Promise<VerificationKeys> {
  const { JWT_ALGORITHM, JWT_SECRET_KEY, JWT_PUBLIC_KEY, JWT_JWKS_URL } = settings;
  if (!settings.JWT_VERIFY_SIGNATURE) return { verify: () => false };
  if (JWT_ALGORITHM === 'HS256') return hmacKeys(JWT_SECRET_KEY);
  if (JWT_PUBLIC_KEY) return rsaKeys('JWT_PUBLIC_KEY', await publicKeys(JWT_PUBLIC_KEY));
  if (JWT_JWKS_URL) {
    // Loaded only if needed: the library would take a fifth of the start time of every daemon.
    const { createKeySet } = await import('./key-set.ts');
    return createKeySet(new URL(JWT_JWKS_URL), log);
  }
  if (JWT_SECRET_KEY) {
    const pems = listedKeys(JWT_SECRET_KEY.reveal());
    return rsaKeys('JWT_SECRET_KEY', pems.map(unescapeLines));
  }
  throw new UnusableKey('JWT_PUBLIC_KEY', 'is not set', 'RS256 needs it, or JWT_JWKS_URL');
}

function hmacKeys(secret: Secret | undefined): VerificationKeys {
  const secrets = secret === undefined ? [] : sharedSecrets(secret);
  if (secrets.length === 0)
    throw new UnusableKey('JWT_SECRET_KEY', 'is not set', 'HS256 needs the signing secret');
  const keys = secrets.map((one) => createSecretKey(one.reveal(), 'utf8'));
  return {
    verify: (token) =>
      fitOf(
        keys.findIndex((key) => isSignedWithSecret(key, token)),
        keys,
      ),
  };
}

const PEM = 'give an RSA public key of 2048 bits or more as PEM (PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE)';

async function rsaKeys(setting: string, pems: readonly string[]): Promise<VerificationKeys> {
  expectFewKeys(setting, pems);
  const { isSignedWithKey, RSA_MIN_BITS } = await import('./rsa-signature.ts');
  const keys = pems.map((pem) => rsaKey(setting, pem, RSA_MIN_BITS));
  refuseChain(setting, pems);
  return {
    async verify(token) {
      for (const [at, key] of keys.entries()) if (await isSignedWithKey(key, token)) return fitOf(at, keys);
      return false;
    },
  };
}

/** @param at the index of the key that fits; -1 if none does */
function fitOf(at: number, keys: readonly unknown[]): KeyFit {
  return keys.length > 1 && at !== -1 ? at + 1 : at !== -1;
}

function rsaKey(setting: string, pem: string, minBits: number): KeyObject {
  if (pem.includes('PRIVATE KEY-----')) {
    throw new UnusableKey(setting, 'contains a private key, which only the issuer may have', PEM);
  }
  const key = parsePem(setting, pem);
  if (key.asymmetricKeyType !== 'rsa') {
    throw new UnusableKey(setting, `contains a key of type ${key.asymmetricKeyType}`, PEM);
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < minBits) throw new UnusableKey(setting, `contains an RSA key of ${bits} bits`, PEM);
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
  throw new UnusableKey(
    setting,
    'contains a certificate and the certificate of its authority',
    'give only the certificates of the keys that sign tokens',
  );
}

function parsePem(setting: string, pem: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (cause) {
    throw new UnusableKey(setting, 'contains no readable PEM', PEM, { cause });
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
    throw new UnusableKey('JWT_PUBLIC_KEY', `is not PEM, and as a path it cannot be read (${code})`, PEM, {
      cause,
    });
  }
}

/**
 * Replaces `\n` with line breaks. In an environment variable, PEM is often written on one line, with `\n` for each line
 * break.
 */
function unescapeLines(pem: string): string {
  return pem.replaceAll('\\n', '\n').trim();
}
