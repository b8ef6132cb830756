import { mayBeInexact, parseExactly } from '../exact-json.ts';
import { isMoment, readClaims, type UntrustedObject } from './claims.ts';
import type { Claims } from './identity.ts';

/** Longest token that is looked at, in characters (agentd-identity(7), "Checks"). */
export const TOKEN_MAX = 8192;

/** What a token says, whether or not any of it is true. Decoded once; every check reads this. */
export interface DecodedToken {
  /** Null if it cannot be decoded, or is no JSON object. */
  header: UntrustedObject | null;
  payload: UntrustedObject | null;
  /** The payload's claims; null if a required one is missing. */
  claims: Claims | null;
  /** Header and payload as written: what the signature is over. */
  signed: string;
  /** As written, base64url. */
  signature: string;
}

const UNDECODABLE: DecodedToken = { header: null, payload: null, claims: null, signed: '', signature: '' };

// Whether the third part can be a signature at all is for the signature check: it may be any text.
const THREE_PARTS = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;

/**
 * Decodes without validating anything; never throws. White space around or inside a token is no part of
 * it: sources that may carry some (a slash command's text, standard input) trim before.
 */
export function decodeToken(token: string): DecodedToken {
  const parts = partsOf(token);
  if (!parts) return UNDECODABLE;
  const [, header = '', payload = '', signature = ''] = parts;
  const claimed = decodeObject(payload);
  return {
    header: decodeObject(header),
    payload: claimed,
    claims: claimed && readClaims(claimed),
    signed: token.slice(0, header.length + 1 + payload.length),
    signature,
  };
}

/** The payload alone, as `decodeToken` decodes it. */
export function decodePayload(token: string): UntrustedObject | null {
  const payload = partsOf(token)?.[2];
  return payload === undefined ? null : decodeObject(payload);
}

function partsOf(token: string): RegExpExecArray | null {
  return token.length <= TOKEN_MAX ? THREE_PARTS.exec(token) : null;
}

/**
 * Is the decoded token a JWT that this service reads? A `crit` header asks for extensions that nothing here understands
 * (RFC 7515 §4.1.11). `nbf` and `iat` that are no number stand here, too, because their reason is `JWT Malformed`
 * (agentd-identity(7), "Checks"), so that each reason has one place in the sequence.
 */
export function isWellFormed({ header, payload }: DecodedToken): boolean {
  if (!header || !payload || Object.hasOwn(header, 'crit')) return false;
  return ['nbf', 'iat'].every((name) => !Object.hasOwn(payload, name) || Number.isFinite(payload[name]));
}

/** When the token says that it ends, in ms since the epoch, also if it is not valid; null if it does not say. */
export function claimedExpiry({ payload }: DecodedToken): number | null {
  return isMoment(payload?.exp) ? Math.floor(payload.exp * 1000) : null;
}

// A byte order mark is not skipped: JSON has none (RFC 8259 §8.1), and so it does not parse.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeObject(part: string): UntrustedObject | null {
  // A single character of the last group carries no whole byte; Buffer would drop it without a word.
  if (part.length % 4 === 1) return null;
  try {
    const json = utf8.decode(Buffer.from(part, 'base64url'));
    const value: unknown = JSON.parse(json);
    if (!isObject(value)) return null;
    return mayBeInexact(json) ? withExactIds(value, json) : value;
  } catch {
    // Neither UTF-8 nor JSON: what a token holds is never an error of ours.
    return null;
  }
}

/** Claims whose type says whether they are right. */
const TYPED = ['sub', 'email', 'exp', 'nbf', 'iat'];

/**
 * The numbers of a tenant or a customer may have more digits than a number holds: as such, two of them could become one,
 * and so could their people.
 */
function withExactIds(value: UntrustedObject, json: string): UntrustedObject {
  const exact = parseExactly(json) as UntrustedObject;
  const typed = TYPED.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]);
  return { ...exact, ...Object.fromEntries(typed) };
}

function isObject(value: unknown): value is UntrustedObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
