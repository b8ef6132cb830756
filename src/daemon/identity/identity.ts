import type { Secret } from '../secret.ts';

/** Claims of a token (agentd-identity(7), "Claims"), as far as they have the documented type. */
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
}

/** Result of a successful validation (agentd-identity(7), "Claims"). */
export interface UserContext {
  user_id: string;
  email: string;
  roles: string[];
  token: Secret;
}

/** Why a token is no use (agentd-identity(7), "Checks"). */
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
export type TokenReason = (typeof TOKEN_REASONS)[number];

export type TokenVerdict =
  | { valid: true; user: UserContext; claims: Claims; person: PersonKey; expires_at: number }
  | {
      valid: false;
      reason: TokenReason;
      /** Whose token it was and when it ended (ms since the epoch), if nothing else is wrong with it. */
      expired?: { person: PersonKey; at: number };
    };

/** Validates tokens; made once at start with its keys imported. Never throws for what a token holds. */
export interface TokenValidator {
  /** @param request_id of the request that it came with, for the log. */
  validate(token: string, request_id?: string): Promise<TokenVerdict>;
}

/**
 * A person: `iss`, `tenant_id` and `sub` of a valid token together, absent ones counting as empty
 * (agentd-identity(7), "Persons"). JSON, so that no choice of claims makes two people one.
 */
export type PersonKey = string & { readonly __person: unique symbol };

export function personKey(claims: Pick<Claims, 'sub' | 'iss' | 'tenant_id'>): PersonKey {
  return JSON.stringify([claims.iss ?? '', claims.tenant_id ?? '', claims.sub]) as PersonKey;
}

/** The `sub` of a person. */
export function subOf(person: PersonKey): string {
  const [, , sub] = JSON.parse(person) as [string, string, string];
  return sub;
}

/** A token and its one validation. */
export interface ValidatedToken {
  token: string;
  verdict: TokenVerdict;
}

/** What a message brought to prove who sent it, after the one validation. */
export type Credential =
  | { kind: 'person'; verdict: Extract<TokenVerdict, { valid: true }> }
  | {
      kind: 'invalid';
      reason: TokenReason /** It has expired, and the person was notified. */;
      expiry_notified?: boolean;
    }
  /** An explicit `jwt_token: null`. */
  | { kind: 'signed-out' }
  | { kind: 'none'; reason: NoCredential };

/** The person of the valid token that came with a message; null: nobody. */
export function personOf(credential: Credential): PersonKey | null {
  return credential.kind === 'person' ? credential.verdict.person : null;
}

export type NoCredential =
  | 'no_token'
  /** On channels that look for the sender's link. */
  | 'no_link'
  /** The user id is linked, but another sender has it now. */
  | 'link_of_other_sender';
