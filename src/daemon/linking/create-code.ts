import { randomBytes } from 'node:crypto';
import { AgentdError } from '../errors.ts';
import { claimsOfStoredToken } from '../identity/decode-token.ts';
import type { PersonKey } from '../identity/identity.ts';
import type { Seal } from '../identity/seal.ts';
import { CODES_MAX, WINDOW_MS } from '../store/links/link-codes.ts';
import type { Store } from '../store/store.ts';
import { CODE_LENGTH, codeHashes } from './codes-in-text.ts';
import { codeRecord } from './link-ids.ts';

/** A code as its person gets it, once. Only a keyed hash of `code` is stored. */
export interface MadeCode {
  id: string;
  code: string;
  /** ms since the epoch */
  expires_at: number;
}

/**
 * Makes a link code for the person of a valid token. It ends the person's earlier code.
 * @param lifetime_ms how long the code is valid
 * @throws `rate_limited` if the person has made too many codes
 */
export async function createCode(
  { store, seal }: { store: Pick<Store, 'linkCodes'>; seal: Seal },
  { person, token, lifetime_ms }: { person: PersonKey; token: string; lifetime_ms: number },
): Promise<MadeCode> {
  const [id, code] = [randomBytes(16).toString('base64url'), generateCode()];
  const [code_hash] = codeHashes(seal, code);
  const sealed = seal.close(token, codeRecord(id));
  const made = await store.linkCodes.create({
    code_id: id,
    code_hash,
    person,
    token: sealed,
    origin: claimsOfStoredToken(token),
    ttl_ms: lifetime_ms,
  });
  if (made.outcome === 'created') return { id, code, expires_at: made.expires_at };
  const retryAfter = made.retry_after_ms / 1000;
  throw new AgentdError('rate_limited', 'You have made too many link codes in the last ten minutes.', {
    retryAfter,
    headers: {
      'RateLimit-Policy': `"link-codes";q=${CODES_MAX};w=${WINDOW_MS / 1000}`,
      RateLimit: `"link-codes";r=0;t=${Math.ceil(retryAfter)}`,
    },
  });
}

/** Digits and capital letters without 0, 1, I and O, which look like each other. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';

/** A new link code. It has a digit, so that it is no word of a language. */
export function generateCode(): string {
  for (;;) {
    // 256 is a multiple of 32, so each letter is equally likely.
    const letters = Array.from(randomBytes(CODE_LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]);
    const code = letters.join('');
    if (/\d/.test(code)) return code;
  }
}
