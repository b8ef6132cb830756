import { createHmac, hash } from 'node:crypto';
import { isSealingOff, keysIn } from '../identity/key-file.ts';
import { listedKeys } from '../identity/keys.ts';
import { Secret } from '../settings/secret.ts';
import { SETTINGS, type Settings } from '../settings/settings.ts';

/** Prefix of the digest of a secret. */
const SECRET = 'hmac.';

/** Length of a digest, in characters. */
const LENGTH = 16;

/**
 * A digest of each setting that the daemons on one store must agree on. Secrets get an HMAC under the key that seals
 * tokens: without that key they have no digest, because a plain hash would reveal a weak secret.
 */
export function settingsDigests(settings: Settings): Record<string, string> {
  const { TOKEN_ENCRYPTION_KEY: keys } = settings;
  const [key] = keys === undefined || isSealingOff(keys) ? [] : keysIn(keys);
  const digests: Record<string, string> = {};
  for (const { name, shared, ...record } of SETTINGS) {
    if (!shared) continue;
    const value: unknown = settings[name];
    const isSecret = value instanceof Secret;
    if (isSecret && !key) continue;
    // Keys in order, however their lines end.
    const holdsKeys = record.kind === 'string' && record.several;
    const plain = isSecret ? value.reveal() : (value ?? null);
    const text = `${name}=${JSON.stringify(holdsKeys ? listedKeys(String(plain ?? '')) : plain)}`;
    const digest =
      isSecret && key
        ? createHmac('sha256', key).update(text).digest('base64url')
        : hash('sha256', text, 'base64url');
    digests[name] = `${isSecret ? SECRET : ''}${digest.slice(0, LENGTH)}`;
  }
  return digests;
}

/**
 * The settings that differ. If the keys differ, digests of secrets cannot be compared, so the key is the only secret
 * that is named.
 */
export function differingSettings(
  mine: Readonly<Record<string, string>>,
  others: Readonly<Record<string, string>>,
): string[] {
  const differing = Object.keys(mine).filter((name) => name in others && mine[name] !== others[name]);
  const isKeyOnOneSide = 'TOKEN_ENCRYPTION_KEY' in mine !== 'TOKEN_ENCRYPTION_KEY' in others;
  if (isKeyOnOneSide) return ['TOKEN_ENCRYPTION_KEY', ...differing];
  if (!differing.includes('TOKEN_ENCRYPTION_KEY')) return differing;
  return differing.filter((name) => name === 'TOKEN_ENCRYPTION_KEY' || !mine[name]?.startsWith(SECRET));
}

/** Whether all daemons seal stored tokens with these keys, in the same order. */
export function haveSameKeys(
  { TOKEN_ENCRYPTION_KEY: mine }: Readonly<Record<string, string>>,
  others: readonly { digests: Readonly<Record<string, string>> }[],
): boolean {
  return others.every(({ digests }) => digests.TOKEN_ENCRYPTION_KEY === mine);
}

/** One digest of all settings, to compare by eye. */
export function wholeDigest(digests: Readonly<Record<string, string>>): string {
  const all = Object.entries(digests).sort(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify(all), 'hex').slice(0, 8);
}
