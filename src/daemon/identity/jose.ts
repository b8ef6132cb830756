import type { KeyObject, webcrypto } from 'node:crypto';
import {
  compactVerify,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JWTPayload,
  type RemoteJWKSet,
  SignJWT,
} from 'jose';
import { readAnswer } from '../../channel/answer.ts';
import type { Log } from '../process/log.ts';
import type { Secret } from '../settings/secret.ts';
import type { Signed, VerificationKeys } from './keys.ts';

const TIMEOUT_MS = 5000;
/** Maximum number of fetches per minute because of keys that are not in the set: any sender can name an unknown key. */
const RELOADS_MAX = 5;
const RELOADS_WINDOW_MS = 60_000;
/** Minimum time between the last fetch of the set and a fetch because of a logout token, ms. */
const LOGOUT_RELOAD_MS = 60_000;
/** Age at which the set is renewed in the background, ms. */
const RENEW_AFTER_MS = 600_000;
/** Wait after a failed renewal, ms. Each failure is logged as a warning. */
const RENEW_AGAIN_MS = 5000;
/** Age at which the set is no longer used, ms. A withdrawn key must not be trusted for long during an outage. */
const MAX_AGE_MS = 3_600_000;

/** The key set cannot be fetched or read; `cause` says why. It is then not known whether a signature is valid. */
class KeySetUnreachable extends Error {
  constructor(cause: unknown) {
    super('The key set at JWT_JWKS_URL cannot be reached.', { cause });
    this.name = 'KeySetUnreachable';
  }
}

/**
 * RS256 keys of an issuer's key set (RFC 7517), fetched when the first token needs one.
 *
 * @param log gets a warning when a set that is still in use could not be renewed
 */
export function createKeySet(url: URL, log?: Pick<Log, 'warn'>): VerificationKeys {
  const source = boundedFetch(fetch);
  const set = remoteSet(url, source.fetch);
  /** The times of the last fetches for a key that was not in the set, ms since the epoch. */
  let reloads: readonly number[] = [];
  /** When a logout token last had the set fetched, ms since the epoch. */
  let logoutReload = 0;

  /** Whether a logout token may have the set fetched now. It has no share in the fetches for user tokens. */
  function mayReloadForLogout(): boolean {
    const now = Date.now();
    const last = [source.fetchedAt(), logoutReload];
    if (!last.every((at) => isPast(at, LOGOUT_RELOAD_MS, now))) return false;
    logoutReload = now;
    return true;
  }

  /** The keys for this `kid`. If there are none, the set is fetched again, since the key may be newer than the set. */
  async function keysFor({ kid, isLogout = false }: Signed): Promise<webcrypto.CryptoKey[]> {
    if (isLogout && !set.fresh && !set.reloading && !mayReloadForLogout())
      throw new KeySetUnreachable(new Error('The last attempt was less than a minute ago.'));
    const known = await findMatching(set, kid);
    if (known.length > 0) return known;
    if (isLogout) {
      if (!mayReloadForLogout()) return [];
    } else if (!set.reloading) {
      const now = Date.now();
      // A time in the future is dropped: the clock was set back.
      reloads = reloads.filter((at) => at <= now && now - at < RELOADS_WINDOW_MS);
      if (reloads.length >= RELOADS_MAX) return [];
      reloads = [...reloads, now];
    }
    await set.reload().catch((cause: unknown) => {
      throw new KeySetUnreachable(cause);
    });
    return findMatching(set, kid);
  }

  function renewWhenOld(): void {
    const now = Date.now();
    const due =
      isPast(source.fetchedAt(), RENEW_AFTER_MS, now) && isPast(source.failedAt(), RENEW_AGAIN_MS, now);
    if (!due || !set.fresh || set.reloading) return;
    set.reload().catch((cause: unknown) => {
      log?.warn(
        { err: new KeySetUnreachable(cause) },
        'the key set could not be renewed; the last key set stays in use',
      );
    });
  }

  return {
    async verify(token) {
      renewWhenOld();
      const keys = await keysFor(token);
      for (const key of keys.filter(isLongEnough)) if (await isSignedWithKey(key, token)) return true;
      return false;
    },
  };
}

/**
 * How many keys of a key set can check a signature.
 * @throws KeySetUnreachable
 */
export async function countKeys(url: URL, send: typeof fetch): Promise<number> {
  const keys = await findMatching(remoteSet(url, boundedFetch(send).fetch), undefined);
  return keys.filter(isLongEnough).length;
}

function remoteSet(url: URL, send: FetchImplementation): RemoteJWKSet {
  return createRemoteJWKSet(url, {
    timeoutDuration: TIMEOUT_MS,
    // With this value, jose does not fetch the set again if a key is not found: `keysFor` does.
    cooldownDuration: Number.POSITIVE_INFINITY,
    cacheMaxAge: MAX_AGE_MS,
    [customFetch]: send,
  });
}

/** Whether this much time has passed since `at`. Also true if `at` is in the future because the clock was set back. */
function isPast(at: number, ms: number, now: number): boolean {
  return at > now || now - at >= ms;
}

function isLongEnough(key: webcrypto.CryptoKey): boolean {
  return (key.algorithm as webcrypto.RsaHashedKeyAlgorithm).modulusLength >= RSA_MIN_BITS;
}

/** The keys that a token with this `kid` may be signed with. */
async function findMatching(set: RemoteJWKSet, kid: unknown): Promise<webcrypto.CryptoKey[]> {
  try {
    return [await set({ alg: 'RS256', ...(typeof kid === 'string' ? { kid } : {}) })];
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return [];
    if (error instanceof errors.JWKSMultipleMatchingKeys) return collect(error);
    throw new KeySetUnreachable(error);
  }
}

/** A token need not name its key. In that case, jose's error contains all keys that fit. */
async function collect(keys: AsyncIterable<webcrypto.CryptoKey>): Promise<webcrypto.CryptoKey[]> {
  const collected: webcrypto.CryptoKey[] = [];
  for await (const key of keys) collected.push(key);
  return collected;
}

/** Longest key set, in characters. */
const KEY_SET_MAX = 262_144;

/**
 * Fetches a key set within limits. After a failure, there is no new attempt for as long as the failed attempt took: an
 * issuer that does not answer must not hold up each message, but an issuer that recovers should be used again soon.
 * Redirects are answers other than 200, so they are not followed: only the configured address may decide which keys the
 * daemon trusts.
 */
function boundedFetch(send: typeof fetch) {
  let fetchedAt = 0;
  let failure: { at: number; until: number; cause: unknown } | undefined;
  return {
    /** Time of the last successful fetch, in ms since the epoch; 0 if there was none. */
    fetchedAt: () => fetchedAt,
    /** Time at which the last fetch failed, in ms since the epoch; 0 if it did not fail. */
    failedAt: () => failure?.at ?? 0,
    /** jose gets this function as its `customFetch`, and adds the timeout. */
    async fetch(url: string, options: RequestInit) {
      const begun = Date.now();
      // If the clock was set back since the failure, it does not show how long ago the failure was. The fetch is then
      // attempted.
      if (failure && begun >= failure.at && begun < failure.until) throw failure.cause;
      try {
        const body = await readBody(await send(url, options));
        failure = undefined;
        fetchedAt = Date.now();
        return new Response(body);
      } catch (cause) {
        const at = Date.now();
        failure = { at, until: at + (at - begun), cause };
        throw cause;
      }
    },
  };
}

async function readBody(response: Response): Promise<string> {
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`Expected status 200, got ${response.status}.`);
  }
  const text = await readAnswer(response, KEY_SET_MAX);
  if (text === null) throw new Error(`Expected at most ${KEY_SET_MAX} characters.`);
  return text;
}

/** Minimum size of an RSA key, bits (RFC 7518 §3.3). */
export const RSA_MIN_BITS = 2048;

/**
 * Whether a token is signed (RS256) with the private key that belongs to `key`. jose checks the header's `alg`
 * again, so a token with another algorithm fails here even if an earlier check let it through.
 */
export async function isSignedWithKey(
  key: KeyObject | webcrypto.CryptoKey,
  { signed, signature }: Signed,
): Promise<boolean> {
  // Only the canonical base64url is accepted: otherwise, the unused bits of the last character could vary.
  if (Buffer.from(signature, 'base64url').toString('base64url') !== signature) return false;
  try {
    await compactVerify(`${signed}.${signature}`, key, { algorithms: ['RS256'] });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError) return false;
    throw error;
  }
}

/** Signs a token with HS256, for `agentd token issue` and `serve --dev`. The daemon never issues tokens. */
export function signToken(claims: Readonly<Record<string, unknown>>, secret: Secret): Promise<string> {
  return new SignJWT(claims as JWTPayload)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .sign(new TextEncoder().encode(secret.reveal()));
}
