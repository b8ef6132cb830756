const NAME = 'jwt_token';

/** Written by hand and not by a library, because the exact text is specified (agentd-sse(7)). */
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';
const MAX_AGE = 3600;

/** Size of a cookie's name and value that every browser must support, in bytes (RFC 6265 §6.1). */
const COOKIE_MAX = 4096;

/**
 * Returns the `Set-Cookie` header for the token of a message, valid or not. The header clears the cookie if the token
 * cannot be written into a cookie, or if the client says "signed out" (null), so that an earlier person's token does
 * not remain. Returns null if there was no token: the cookie does not change.
 */
export function cookieFor(token: string | null | undefined): string | null {
  if (token === undefined) return null;
  const pair = `${NAME}=${token}`;
  if (token === null || !/^[A-Za-z0-9_.-]+$/.test(token) || pair.length > COOKIE_MAX) {
    return `${NAME}=; Max-Age=0; ${ATTRIBUTES}`;
  }
  return `${pair}; Max-Age=${MAX_AGE}; ${ATTRIBUTES}`;
}

/**
 * The value of each cookie `jwt_token` in a `Cookie` header. There may be several: a page on a sibling host can set a
 * cookie with the same name (RFC 6265 §8.6).
 */
export function tokensInCookie(header: string | undefined): readonly string[] {
  const pairs = (header?.split(';') ?? []).map((part) => part.split('='));
  return pairs.filter(([name]) => name?.trim() === NAME).map(([, ...value]) => value.join('=').trim());
}
