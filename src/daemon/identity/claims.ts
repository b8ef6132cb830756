import type { Claims } from './identity.ts';

/** A JSON object as it was received. Nothing in it is trusted. */
export type UntrustedObject = Readonly<Record<string, unknown>>;

const TEXTS = ['name', 'organization', 'phone', 'locale', 'timezone'] as const;
const MOMENTS = ['iat', 'nbf'] as const;
/** The claims that identify a person, together with `sub`. */
const IDENTIFYING = ['iss', 'tenant_id'] as const;

/**
 * The claims of a payload (agentd-identity(7), "Claims"). Null if `sub`, `email` or `exp` is missing or invalid.
 * Optional claims that do not have the documented type are left out.
 */
export function readClaims(payload: UntrustedObject): Claims | null {
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
function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.isWellFormed() && !/\p{Cc}/u.test(value);
}

/**
 * Tenants are often numbered. If a number were left out like other claims of the wrong type, people of two tenants with
 * the same `sub` would be one person. Therefore a value that is not a text counts as its JSON.
 */
function identifying(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}
