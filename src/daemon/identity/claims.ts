import type { Claims } from './identity.ts';

/** A JSON object as it came, nothing of it trusted. */
export type UntrustedObject = Readonly<Record<string, unknown>>;

const TEXTS = ['name', 'organization', 'phone', 'locale', 'timezone'] as const;
const MOMENTS = ['iat', 'nbf'] as const;
/** `iss` and `tenant_id` say, together with `sub`, who a person is. */
const IDENTIFYING = ['iss', 'tenant_id'] as const;

/**
 * The claims of a payload (agentd-identity(7), "Claims"); null where `sub`, `email` or `exp` is missing or no use.
 * Optional claims of another type than the documented one are left out.
 */
export function readClaims(payload: UntrustedObject): Claims | null {
  const { sub, email, exp, roles, aud } = payload;
  if (!isName(sub) || !isName(email) || !isMoment(exp)) return null;
  const claims: Claims = { sub, email, exp };
  for (const name of TEXTS) {
    const value = payload[name];
    if (typeof value === 'string') claims[name] = value;
  }
  // A number of digits alone: to leave it out would let its person link any other number.
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

/** Seconds since the epoch that a date can hold (ECMA-262, "Time Values"). */
export function isMoment(value: unknown): value is number {
  return typeof value === 'number' && Math.abs(value) <= 8.64e12;
}

/**
 * `sub` and `email` become keys of stores, query parameters and log fields. A lone surrogate has no UTF-8
 * form, so that two people could become one when it is written; a control character is in no one's name.
 */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.isWellFormed() && !/\p{Cc}/u.test(value);
}

/**
 * Tenants are often numbered. To leave such a claim out like other mistyped ones would make one person of
 * two tenants' equal `sub`, so anything but a text counts as its JSON.
 */
function identifying(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}
