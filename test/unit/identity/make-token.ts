import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { importKeys, type KeySettings, type VerificationKeys } from '../../../src/daemon/identity/keys.ts';
import type { TokenSettings } from '../../../src/daemon/identity/token-checks.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';

/** Tokens with every kind of error, made by hand: no library would sign most of them. */

export const SECRET = 'a-shared-secret-of-at-least-256-bits';
/** The frozen time of these tests, in ms and in seconds. */
export const NOW = Date.UTC(2026, 0, 15, 12, 0, 0);
export const NOW_S = NOW / 1000;
export const frozen = { now: () => NOW };

export const HEADER = { alg: 'HS256', typ: 'JWT' };
export const CLAIMS = { sub: 'u-1', email: 'alice@example.com', exp: NOW_S + 3600 };

export function encode(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

/** Signs exactly these texts or objects with HS256, whatever the header says. */
export function hs256(payload: unknown = CLAIMS, header: unknown = HEADER, secret = SECRET): string {
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

export function rs256(key: KeyObject, payload: unknown = CLAIMS, header: object = { alg: 'RS256' }): string {
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
}

const rsaPairs = new Map<string, { publicKey: KeyObject; privateKey: KeyObject }>();

/** One RSA key for each name and length: making a key takes a tenth of a second. */
export function rsaPair(
  name = 'first',
  modulusLength = 2048,
): { publicKey: KeyObject; privateKey: KeyObject } {
  const known = rsaPairs.get(`${name} ${modulusLength}`);
  if (known) return known;
  const pair = generateKeyPairSync('rsa', { modulusLength });
  rsaPairs.set(`${name} ${modulusLength}`, pair);
  return pair;
}

export const SETTINGS: TokenSettings & KeySettings & { JWT_DEBUG: boolean } = {
  JWT_ALGORITHM: 'HS256',
  JWT_SECRET_KEY: new Secret(SECRET),
  JWT_PUBLIC_KEY: undefined,
  JWT_JWKS_URL: undefined,
  JWT_VERIFY_SIGNATURE: true,
  JWT_VERIFY_EXP: true,
  JWT_ISSUER: undefined,
  JWT_AUDIENCE: undefined,
  JWT_CLOCK_SKEW_SECONDS: 0,
  JWT_DEBUG: false,
};

export const KEYS: VerificationKeys = await importKeys(SETTINGS);

/** A log that records its lines. */
export function recordingLog() {
  const lines: { level: 'info' | 'warn'; fields: Record<string, unknown>; message: string }[] = [];
  const write = (level: 'info' | 'warn') => (fields: object, message: string) => {
    lines.push({ level, fields: { ...fields }, message });
  };
  return { lines, log: { info: write('info'), warn: write('warn') } };
}
