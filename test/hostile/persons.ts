import { SECRET } from '../support/daemon.ts';
import { signToken } from '../support/fake-api.ts';

/** A person with a valid token. */
export interface Person {
  sub: string;
  email: string;
  token: string;
}

/** The first number of the people who only interfere. */
export const STRANGERS = 500_000;

/** The first claim of each token, so that all payloads begin alike. */
const CANARY = { jti: 'canary-' };
/** How the payload of each token begins: 15 bytes are 20 characters of base64url. */
export const PAYLOAD_START = Buffer.from('{"jti":"canary-').toString('base64url');

/** An expiry far beyond the end of a test. */
const LIFE_SECONDS = 7 * 24 * 3600;

/** Returns the person with this number. The same number always gives the same person. */
export function personOf(number: number, issued_at: number): Person {
  const sub = `p${number}`;
  const email = `${sub}@example.com`;
  return { sub, email, token: tokenOf({ sub, email, exp: issued_at + LIFE_SECONDS }) };
}

export function expiredToken({ sub, email }: Person): string {
  return tokenOf({ sub, email, exp: 1000 });
}

export function forgedToken({ sub, email }: Person, issued_at: number): string {
  return tokenOf({ sub, email, exp: issued_at + LIFE_SECONDS }, 'another-secret-of-at-least-256-bits-in-all');
}

/** Makes the token of the default credentials. */
export function defaultToken(issued_at: number): string {
  return tokenOf({ sub: 'service', email: 'service@example.com', exp: issued_at + LIFE_SECONDS });
}

function tokenOf(claims: Record<string, unknown>, secret = SECRET): string {
  return signToken({ ...CANARY, ...claims, jti: `canary-${claims.sub}` }, secret);
}
