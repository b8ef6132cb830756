const NAME = 'jwt_token';

/** Written out, since the header is documented to the letter (service.md, "Cookie rules (sse)"). */
const ATTRIBUTES = 'Path=/; HttpOnly; Secure; SameSite=Lax';
const MAX_AGE = 3600;

/** What browsers keep at least of a cookie's name and value (RFC 6265 §6.1), bytes. */
const COOKIE_MAX = 4096;

/**
 * The `Set-Cookie` for the token that came with a message, valid or not. Where it cannot be a cookie, and
 * where the client says "signed out" (null), the cookie is cleared, so that no earlier person's stays behind.
 * Null: no token was given, and the cookie stays as it is.
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
 * The value of each cookie `jwt_token` in a `Cookie` header. There may be several: a page of a sibling host can set a
 * cookie of the same name (RFC 6265 §8.6).
 */
export function tokensInCookie(header: string | undefined): readonly string[] {
  const pairs = (header?.split(';') ?? []).map((part) => part.split('='));
  return pairs.filter(([name]) => name?.trim() === NAME).map(([, ...value]) => value.join('=').trim());
}
