import { hash } from 'node:crypto';
import type { Secret } from '../settings/secret.ts';

/** Claims of a token that have the documented type (agentd-identity(7), "Claims"). */
export interface Claims {
  sub: string;
  email: string;
  /** Seconds since the epoch. */
  exp: number;
  name?: string;
  roles?: string[];
  iat?: number;
  nbf?: number;
  iss?: string;
  aud?: string | string[];
  tenant_id?: string;
  organization?: string;
  phone?: string;
  locale?: string;
  timezone?: string;
  /** The session at the site (OpenID Connect Back-Channel Logout 1.0, §2.1). */
  sid?: string;
}

/** The claims by which a sign-out at the site covers a token. */
export type TokenOrigin = Pick<Claims, 'iss' | 'sub' | 'tenant_id' | 'sid' | 'iat'>;

/** The sign-outs at the site, of which everything that uses a token asks each time. */
export interface SignOutMarks {
  /** Whether the token with these claims ended with a sign-out. Rejects if that cannot be found out. */
  covers(token: TokenOrigin): Promise<boolean>;
}

/** For commands that see no store, and for tests. */
export const NO_MARKS: SignOutMarks = { covers: async () => false };

/** Result of a successful validation (agentd-identity(7), "Claims"). */
export interface UserContext {
  user_id: string;
  email: string;
  roles: string[];
  token: Secret;
}

/** Why a token is invalid (agentd-identity(7), "Checks"), in the order of the checks. */
export const TOKEN_REASONS = [
  'JWT Malformed',
  'Algorithm Not Allowed',
  'Invalid Signature',
  'Missing Required Claims',
  'Token Expired',
  'Token Not Yet Valid',
  'Invalid Issuer',
  'Invalid Audience',
] as const;
/** `Signed Out`: the person has signed out at the site since the token was issued. */
export type TokenReason = (typeof TOKEN_REASONS)[number] | 'Signed Out';

export type TokenVerdict =
  | {
      valid: true;
      user: UserContext;
      claims: Claims;
      person: PersonKey;
      expires_at: number;
      /** The position of the key that fits, from 1, if there are several. */
      key?: number;
    }
  | {
      valid: false;
      reason: TokenReason;
      /**
       * If the token is otherwise valid: its owner, and since when it has been refused, ms since the epoch. That is its
       * expiry plus JWT_CLOCK_SKEW_SECONDS.
       */
      expired?: { person: PersonKey; at: number };
    };

/**
 * Validates tokens. It is made once, at the start, and imports its keys then. Never throws because of the content of a
 * token.
 */
export interface TokenValidator {
  /** @param request_id id of the request that the token came with, for the log. */
  validate(token: string, request_id?: string): Promise<TokenVerdict>;
}

/**
 * A person: `iss`, `tenant_id` and `sub` of a valid token together (agentd-identity(7), "Persons"). Absent claims count
 * as empty. It is JSON, so that two people never have the same key, whatever their claims are.
 */
export type PersonKey = string & { readonly __person: unique symbol };

export function personKey(claims: Pick<Claims, 'sub' | 'iss' | 'tenant_id'>): PersonKey {
  return JSON.stringify([claims.iss ?? '', claims.tenant_id ?? '', claims.sub]) as PersonKey;
}

/** The claims in the key of a person. Absent claims are empty. */
export function parsePersonKey(person: PersonKey): { iss: string; tenant_id: string; sub: string } {
  const [iss, tenant_id, sub] = JSON.parse(person) as [string, string, string];
  return { iss, tenant_id, sub };
}

export function readSub(person: PersonKey): string {
  return parsePersonKey(person).sub;
}

/** A token with its verdict. A token is validated only once. */
export interface ValidatedToken {
  token: string;
  verdict: TokenVerdict;
}

/** The credential that came with a message, after its validation. */
export type Credential =
  | { kind: 'person'; verdict: Extract<TokenVerdict, { valid: true }> }
  | { kind: 'invalid'; reason: TokenReason }
  /** The token of the sender's link has expired. `expiry_notified`: whether the person was notified. */
  | { kind: 'expired'; expiry_notified: boolean }
  /** An explicit `jwt_token: null`. */
  | { kind: 'signed-out' }
  | { kind: 'none'; reason: NoCredential };

/** The person of the valid token that came with a message; null if there is none. */
export function personFrom(credential: Credential): PersonKey | null {
  return credential.kind === 'person' ? credential.verdict.person : null;
}

type NoCredential =
  | 'no_token'
  /** The sender has no link. Only on channels that look for a link. */
  | 'no_link'
  /** The user id is linked, but now belongs to another sender. */
  | 'link_of_other_sender';

/** Who a message acts for: a person, whose stored token the tools may use; or nobody, with the reason. */
export type Principal =
  | { person: PersonKey; claims: Claims }
  | {
      person: null;
      reason: NobodyReason;
      token_reason?: string;
      /** Whether the sign-in has expired and the person was already notified. */
      expiry_notified?: boolean;
    };

export type NobodyReason =
  | NoCredential
  | 'invalid_token'
  | 'signed_out'
  | 'stored_token_expired'
  /** The person has signed out at the site since the stored token was issued. */
  | 'signed_out_at_site'
  /** No encryption key opens the stored token. */
  | 'stored_token_unreadable'
  /** The client chose the session's id, so only a message that comes with the token is trusted. */
  | 'client_chosen_session'
  /** The stored context comes from another channel user. */
  | 'other_sender';

/**
 * The name of the part of an index that holds the records of a person, whatever the tenant. A hash, because names of
 * indexes may be shown to operators of a database.
 */
export function byPerson(iss: string, sub: string): string {
  return hash('sha256', JSON.stringify([iss, sub]), 'base64url');
}

/** `byPerson` for the person of a record; null if it has none. */
export function byPersonOrNull(person: PersonKey | '' | null): string | null {
  if (person === null || person === '') return null;
  const { iss, sub } = parsePersonKey(person);
  return byPerson(iss, sub);
}

/** The person or user whose memories are kept (agentd-agent(7), "Memory"). */
export interface MemoryOwner {
  /**
   * The key of a person, or `platform:user_id` of a user that a platform has verified. The two never collide: a
   * person's key is JSON and begins with `[`; a platform's name begins with a letter.
   */
  key: string;
  /**
   * Another id of a platform's user, if the platform sends one. Memories of the same user id with a different alias
   * belong to somebody else, because the user id has a new owner.
   */
  alias: string | null;
}

/** The part of a message that determines the owner of its run's memories. */
export interface MemorySender {
  /** The person for whom the message acts, from a valid token. */
  person: PersonKey | null;
  /** The platform that has verified the sender. Null if only the client itself says who it is. */
  platform: string | null;
  user_id: string;
  alias_id: string | null;
  /** Whether other people can read the conversation. */
  shared: boolean;
}

/** The owner of the memories of a run. Null if the owner is not known, or if other people would read the memories. */
export function memoryOwner({
  person,
  platform,
  user_id,
  alias_id,
  shared,
}: MemorySender): MemoryOwner | null {
  if (shared) return null;
  if (person !== null) return ownerOfPerson(person);
  return platform === null ? null : ownerOnPlatform(platform, user_id, alias_id);
}

export function ownerOfPerson(person: PersonKey): MemoryOwner {
  return { key: person, alias: null };
}

export function ownerOnPlatform(
  platform: string,
  user_id: string,
  alias_id: string | null = null,
): MemoryOwner {
  return { key: `${platform}:${user_id}`, alias: alias_id === user_id ? null : alias_id };
}

/**
 * What the other id of a user says about what is kept for the user. `bind`: there was none yet, so the given one is
 * recorded. `new_owner`: the stored one is different, so what is kept belongs to somebody else.
 */
export function aliasChange(stored: string | null, given: string | null): 'none' | 'bind' | 'new_owner' {
  if (given === null || given === stored) return 'none';
  return stored === null ? 'bind' : 'new_owner';
}
