import { isObject } from '../../channel/json-object.ts';
import { mayBeInexact, parseExactly } from '../syntax/json.ts';
import type { Claims } from './identity.ts';

/** Longest token that is examined, in characters (agentd-identity(7), "Checks"). */
export const TOKEN_MAX = 8192;

/** The content of a token, whether or not it is valid. Decoded once; every check reads this. */
export interface DecodedToken {
  /** Null if it cannot be decoded or is not a JSON object. */
  header: UntrustedObject | null;
  payload: UntrustedObject | null;
  /** The payload's claims; null if a required one is missing. */
  claims: Claims | null;
  /** Header and payload as written, which are the signed text. */
  signed: string;
  /** The signature as written, in base64url. */
  signature: string;
}

const UNDECODABLE: DecodedToken = { header: null, payload: null, claims: null, signed: '', signature: '' };

// The third part may be any text of base64url characters: the signature check decides whether it can be a signature.
const THREE_PARTS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;

/**
 * Decodes without validating anything; never throws. White space around or inside a token is not allowed: code that
 * reads a token from a slash command or from standard input trims it first.
 */
export function decodeToken(token: string): DecodedToken {
  const parts = token.length <= TOKEN_MAX ? THREE_PARTS.exec(token) : null;
  if (!parts) return UNDECODABLE;
  const [, header = '', payload = '', signature = ''] = parts;
  const claimed = decodeObject(payload);
  return {
    header: decodeHeader(header),
    payload: claimed,
    claims: claimed && readClaims(claimed),
    signed: token.slice(0, header.length + 1 + payload.length),
    signature,
  };
}

/** The header that was decoded last: usually all tokens have the same, which their issuer writes. */
let last: { readonly part: string; readonly header: UntrustedObject | null } = { part: '', header: null };

function decodeHeader(part: string): UntrustedObject | null {
  if (part !== last.part) last = { part, header: decodeObject(part) };
  return last.header;
}

/**
 * Whether the decoded token is a JWT that this service can read. A `crit` header requires extensions that are not
 * supported here (RFC 7515 §4.1.11). Also checks that `nbf` and `iat` are numbers, because the reason is `JWT
 * Malformed` if they are not (agentd-identity(7), "Checks"), and each reason has one place in the sequence.
 */
export function isWellFormed({ header, payload }: DecodedToken): boolean {
  if (!header || !payload || Object.hasOwn(header, 'crit')) return false;
  return ['nbf', 'iat'].every((name) => !Object.hasOwn(payload, name) || Number.isFinite(payload[name]));
}

/** The type of a logout token (OpenID Connect Back-Channel Logout 1.0, §2.4), in lower case. */
const LOGOUT_TYPE = 'logout+jwt';

/** Whether the header says that the token is a logout token. The prefix `application/` may be left out (RFC 7515 §4.1.9). */
export function hasLogoutType({ header }: DecodedToken): boolean {
  const typ = header?.typ;
  return typeof typ === 'string' && typ.toLowerCase().replace(/^application\//, '') === LOGOUT_TYPE;
}

/**
 * Whether a token reports events (RFC 8417), as a logout token does. Such a token is signed with the keys of user tokens,
 * and may have all of their claims, but it is never a user token.
 */
export function reportsEvents(token: DecodedToken): boolean {
  return hasLogoutType(token) || Object.hasOwn(token.payload ?? {}, 'events');
}

/** The expiry that the token claims, in ms since the epoch, even if the token is not valid; null if it has none. */
export function claimedExpiry({ payload }: DecodedToken): number | null {
  return isMoment(payload?.exp) ? Math.floor(payload.exp * 1000) : null;
}

// A byte order mark is kept, so that parsing fails: JSON must not begin with one (RFC 8259 §8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeObject(part: string): UntrustedObject | null {
  // A single character in the last group is less than a byte; Buffer would silently drop it.
  if (part.length % 4 === 1) return null;
  try {
    const json = utf8.decode(Buffer.from(part, 'base64url'));
    const value: unknown = JSON.parse(json);
    if (!isObject(value)) return null;
    return mayBeInexact(json) ? withExactIds(value, json) : value;
  } catch {
    // Not UTF-8 or not JSON. The content of a token must never cause an error here.
    return null;
  }
}

/** Claims whose type is checked, so their values must not be converted. */
const TYPED = ['sub', 'email', 'exp', 'nbf', 'iat'];

/**
 * Ids of tenants or customers may have more digits than a number can represent. After rounding, two ids could be equal,
 * and two people could count as one person.
 */
function withExactIds(value: UntrustedObject, json: string): UntrustedObject {
  const exact = parseExactly(json) as UntrustedObject;
  const typed = TYPED.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]);
  return { ...exact, ...Object.fromEntries(typed) };
}

/** A JSON object as it was received. Nothing in it is trusted. */
export type UntrustedObject = Readonly<Record<string, unknown>>;

const TEXTS = ['name', 'organization', 'phone', 'locale', 'timezone', 'sid'] as const;
const MOMENTS = ['iat', 'nbf'] as const;
/** The claims that identify a person, together with `sub`. */
const IDENTIFYING = ['iss', 'tenant_id'] as const;

/**
 * The claims of a payload (agentd-identity(7), "Claims"). Null if `sub`, `email` or `exp` is missing or invalid.
 * Optional claims that do not have the documented type are left out.
 */
function readClaims(payload: UntrustedObject): Claims | null {
  const { sub, email, exp, roles, aud } = payload;
  if (!isName(sub) || !isName(email) || !isMoment(exp)) return null;
  const claims: Claims = { sub, email, exp };
  for (const name of TEXTS) {
    const value = payload[name];
    if (typeof value === 'string') claims[name] = value;
  }
  // A JSON number counts as its digits: if it were left out, the person could link any other phone number.
  if (Number.isSafeInteger(payload.phone)) claims.phone = String(payload.phone);
  for (const name of MOMENTS) {
    const value = payload[name];
    if (typeof value === 'number' && Number.isFinite(value)) claims[name] = value;
  }
  for (const name of IDENTIFYING) {
    const value = identifying(payload[name]);
    if (value !== undefined) claims[name] = value;
  }
  if (isTexts(roles)) claims.roles = roles;
  if (typeof aud === 'string' || isTexts(aud)) claims.aud = aud;
  return claims;
}

/** Whether a value is a time that a date can hold, in seconds since the epoch (ECMA-262, "Time Values"). */
export function isMoment(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= 8.64e12;
}

/**
 * `sub` and `email` become keys of stores, query parameters and log fields. Half of a surrogate pair has no UTF-8 form,
 * so two people could become one when the claim is stored. Control characters are not part of any name.
 */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.isWellFormed() && !/\p{Cc}/u.test(value);
}

/**
 * Tenants are often numbered. If a number were left out like other claims of the wrong type, people of two tenants with
 * the same `sub` would be one person. Therefore a value that is not a text counts as its JSON.
 */
export function identifying(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

/**
 * What a stored token says about its person, for the agent (agentd-message(7), "What the agent is told"). The token is
 * not validated again: it was validated when it was stored, and a message validates a token only once
 * (agentd-identity(7), "Description"). Never throws: a stored text that is not a token has no claims.
 *
 * @param token unsealed.
 */
export function claimsOfStoredToken(token: string): Claims {
  return decodeStoredToken(token).claims;
}

/** The same, with the payload exactly as it is in the token; null if it has none. */
export function decodeStoredToken(token: string): { claims: Claims; payload: UntrustedObject | null } {
  const { claims, payload } = decodeToken(token);
  return { claims: claims ?? { sub: '', email: '', exp: 0 }, payload };
}
