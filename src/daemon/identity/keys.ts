import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Log } from '../log.ts';
import type { Secret } from '../secret.ts';
import type { Settings } from '../settings/settings.ts';
import { isSignedWithSecret, type VerificationKeys } from './signature.ts';

export type KeySettings = Pick<
  Settings,
  'JWT_ALGORITHM' | 'JWT_SECRET_KEY' | 'JWT_PUBLIC_KEY' | 'JWT_JWKS_URL' | 'JWT_VERIFY_SIGNATURE'
>;

/** A setting has no usable key. The error never quotes the value. */
export class UnusableKey extends Error {
  readonly setting: string;
  readonly problem: string;
  /** What a correct value would be. */
  readonly right: string;

  constructor(setting: string, problem: string, right: string, options?: { cause?: unknown }) {
    super(`${setting} ${problem}: ${right}`, options);
    this.name = 'UnusableKey';
    this.setting = setting;
    this.problem = problem;
    this.right = right;
  }
}

/**
 * The keys that the settings name (agentd-identity(7), "Keys"). For RS256, the first of JWT_PUBLIC_KEY, JWT_JWKS_URL
 * and JWT_SECRET_KEY that is set is used. A key set is fetched when a token first needs it, not here.
 * @param log gets a warning when a fetched key set could not be renewed
 * @throws UnusableKey
 */
export async function importKeys(settings: KeySettings, log?: Pick<Log, 'warn'>): Promise<VerificationKeys> {
  const { JWT_ALGORITHM, JWT_SECRET_KEY, JWT_PUBLIC_KEY, JWT_JWKS_URL } = settings;
  if (!settings.JWT_VERIFY_SIGNATURE) return { verify: () => false };
  if (JWT_ALGORITHM === 'HS256') return sharedSecret(JWT_SECRET_KEY);
  if (JWT_PUBLIC_KEY) return rsaKey('JWT_PUBLIC_KEY', await readPem(JWT_PUBLIC_KEY));
  if (JWT_JWKS_URL) {
    // Loaded only if needed: the library would take a fifth of the start time of every daemon.
    const { createKeySet } = await import('./key-set.ts');
    return createKeySet(new URL(JWT_JWKS_URL), log);
  }
  if (JWT_SECRET_KEY) return rsaKey('JWT_SECRET_KEY', unescapeLines(JWT_SECRET_KEY.reveal()));
  throw new UnusableKey('JWT_PUBLIC_KEY', 'is not set', 'RS256 needs it, or JWT_JWKS_URL');
}

function sharedSecret(secret: Secret | undefined): VerificationKeys {
  const text = secret?.reveal() ?? '';
  if (text === '') throw new UnusableKey('JWT_SECRET_KEY', 'is not set', 'HS256 needs the signing secret');
  if (/-----BEGIN ((RSA )?PUBLIC KEY|CERTIFICATE)-----/.test(text)) {
    // Anybody can know a public key, and could sign tokens with it.
    throw new UnusableKey('JWT_SECRET_KEY', 'contains a public key', 'for HS256 it must be a secret');
  }
  const key = createSecretKey(text, 'utf8');
  return { verify: (token) => isSignedWithSecret(key, token) };
}

const PEM = 'give an RSA public key of 2048 bits or more as PEM (PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE)';

async function rsaKey(setting: string, pem: string): Promise<VerificationKeys> {
  if (pem.includes('PRIVATE KEY-----')) {
    throw new UnusableKey(setting, 'contains a private key, which only the issuer may have', PEM);
  }
  const key = parsePem(setting, pem);
  if (key.asymmetricKeyType !== 'rsa') {
    throw new UnusableKey(setting, `contains a key of type ${key.asymmetricKeyType}`, PEM);
  }
  const { isSignedWithKey, RSA_MIN_BITS } = await import('./rsa-signature.ts');
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < RSA_MIN_BITS) throw new UnusableKey(setting, `contains an RSA key of ${bits} bits`, PEM);
  return { verify: (token) => isSignedWithKey(key, token) };
}

function parsePem(setting: string, pem: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (cause) {
    throw new UnusableKey(setting, 'contains no readable PEM', PEM, { cause });
  }
}

/** Reads a key in PEM. @param value PEM, or the path of a PEM file */
async function readPem(value: string): Promise<string> {
  if (value.includes('-----BEGIN')) return unescapeLines(value);
  try {
    return await readFile(value.trim(), 'utf8');
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
