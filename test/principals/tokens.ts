import { createHmac, timingSafeEqual } from 'node:crypto';
import { SECRET } from '../support/daemon.ts';

export const EVERYBODY = ['attacker', 'victim', 'colleague'] as const;
export type Who = (typeof EVERYBODY)[number];

/**
 * The persons whom tokens can name. `tenant` is the attacker at another tenant of the same issuer, with the victim's
 * `sub`. This is another person, because `iss`, `tenant_id` and `sub` together identify a person.
 */
export const PERSONS = [...EVERYBODY, 'tenant'] as const;
export type Person = (typeof PERSONS)[number];

/**
 * Tokens that a principal can present. `renewed` is a second valid token. `phone` and `laptop` each name a session at
 * the site (`sid`); the others name none. `anew` is a token of a new sign-in each time. `undated` does not say when it
 * was issued. `short` expires within the hour, and is old enough to be renewed. `forged` names the other principal, and
 * is signed with another secret. `issuer` and `audience` name the other principal, and are signed with the right secret,
 * but were issued by or for another application.
 */
export const TOKEN_KINDS = [
  'own',
  'renewed',
  'phone',
  'laptop',
  'anew',
  'undated',
  'short',
  'expired',
  'forged',
  'issuer',
  'audience',
  'tenant',
  'garbage',
] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

export const ISSUER = 'https://login.example.com';
export const AUDIENCE = 'agentd';

/** A token, with facts about it that the daemon and the business API must find out for themselves. */
export interface Token {
  kind: TokenKind;
  text: string;
  /** The person of the token, even after it has expired, or null if it was never valid. */
  person: Person | null;
  /** The hour of the history at which the token expires, or -1 if it expired before the history began. */
  expires: number;
  origin: Origin;
}

/** What decides whether a sign-out at the site covers a token. */
export interface Origin {
  sub: string;
  /** Null if the token has no `tenant_id`. */
  tenant: string | null;
  sid: string | null;
  /** Null if the token does not say when it was issued. */
  iat: number | null;
}

/** A sign-out at the site. */
export interface SignOut {
  /** Null: only the session at the site is named. */
  sub: string | null;
  /** Null: in every tenant. */
  tenant: string | null;
  /** Null: every session. */
  sid: string | null;
  iat: number;
}

/** Whether the token is of no use any more. */
export function isCovered({ sub, tenant, sid, iat }: Origin, signOuts: readonly SignOut[]): boolean {
  return signOuts.some((mark) => {
    if (iat !== null && iat > mark.iat) return false;
    if (mark.sid !== null && mark.sid === sid) return true;
    if (mark.sub !== sub || (mark.tenant !== null && mark.tenant !== (tenant ?? ''))) return false;
    return mark.sid === null || sid === null;
  });
}

export function sidOf(history: number, who: Who, device: 'phone' | 'laptop'): string {
  return `${device}-of-${who}-${history}`;
}

export function tenantOf(history: number): string {
  return `tenant${history}`;
}

export function subOf(history: number, who: Who): string {
  return `${who}${history}`;
}

/** The part of the e-mail address before the `@`. */
export function nameOf(history: number, person: Person): string {
  return `${person}${history}`;
}

export function emailOf(history: number, person: Person): string {
  return `${nameOf(history, person)}@example.com`;
}

/** An hour that no history reaches. */
const FAR = 1000;

/**
 * @param hour the hour of the history, which changes only a few times
 * @param iat when the token is issued, as `iat` says it
 */
export function makeToken(history: number, who: Who, kind: TokenKind, hour: number, iat: number): Token {
  const other: Who = who === 'victim' ? 'attacker' : 'victim';
  const made = (person: Person | null, expires: number, claims: Claims, secret?: string): Token => {
    const text = signed(claims, secret);
    return { kind, text, person, expires, origin: originOf(text) };
  };
  const own = { ...claimsOf(history, who), iat };
  const others = { ...claimsOf(history, other), iat };
  switch (kind) {
    case 'own':
      return made(who, FAR, own);
    case 'renewed':
    case 'anew':
      return made(who, FAR, { ...own, jti: `${kind} ${iat}` });
    case 'phone':
    case 'laptop':
      return made(who, FAR, { ...own, sid: sidOf(history, who, kind) });
    case 'undated':
      return made(who, FAR, { ...claimsOf(history, who), jti: kind });
    case 'short':
      return made(who, hour + 1, { ...own, exp: nowSeconds() + 1800 });
    case 'expired':
      return made(who, -1, { ...own, exp: nowSeconds() - 60 });
    case 'forged':
      return made(null, 0, others, 'a-secret-that-the-daemon-does-not-have');
    case 'issuer':
      return made(null, 0, { ...others, iss: 'https://other.example.com' });
    case 'audience':
      return made(null, 0, { ...others, aud: 'another-application' });
    case 'garbage':
      return { ...made(null, 0, own), text: `no.token.${who}` };
    case 'tenant':
      return who === 'attacker'
        ? made('tenant', FAR, {
            ...others,
            email: emailOf(history, 'tenant'),
            tenant_id: tenantOf(history),
          })
        : made(who, FAR, own);
  }
}

/** How the site answers the request for a new token in place of another. */
export const RENEWALS = [
  'issued',
  'outage',
  'ended',
  'stopped',
  'of-another',
  'not-later',
  'of-audience',
] as const;
export type Renewal = (typeof RENEWALS)[number];

/** Seconds between the sign-in for which a token was issued and the new token in its place. */
export const RENEWED_LATER = 5;

/** The token endpoint of the site: its answer to a token exchange, for the token that was sent. */
export function renewalOf(text: string, how: Renewal): { status: number; body: object } {
  const claims = payloadOf(text);
  const history = historyOf(text) ?? 0;
  const exp = nowSeconds() + 24 * 3600;
  const iat = Number(claims.iat) + RENEWED_LATER;
  const issued = (changed: Claims) => ({
    status: 200,
    body: { access_token: signed({ ...claims, iat, exp, ...changed }), token_type: 'Bearer' },
  });
  switch (how) {
    case 'issued':
      return issued({});
    case 'of-another': {
      const isVictim = claims.sub === subOf(history, 'victim');
      const other: Who = isVictim ? 'attacker' : 'victim';
      return issued({ sub: subOf(history, other), email: emailOf(history, other) });
    }
    case 'not-later':
      return issued({ exp: claims.exp });
    case 'of-audience':
      return issued({ aud: [AUDIENCE, 'another-application'] });
    case 'outage':
      return { status: 503, body: {} };
    case 'ended':
      return { status: 400, body: { error: 'invalid_grant' } };
    case 'stopped':
      return { status: 400, body: { error: 'invalid_request' } };
  }
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** @param by `site`: the issuer; others sign with a secret of their own, or send a token of a user instead */
export function makeLogoutToken(
  { sub, tenant, sid, iat }: SignOut,
  jti: string,
  by: 'site' | 'stranger' | 'user',
): string {
  const claims = {
    ...{ iss: ISSUER, aud: AUDIENCE, iat, exp: nowSeconds() + 120, jti },
    ...(sub === null ? {} : { sub }),
    ...(tenant === null ? {} : { tenant_id: tenant }),
    ...(sid === null ? {} : { sid }),
  };
  if (by === 'user') return signed({ ...claims, email: 'somebody@example.com' });
  const secret = by === 'site' ? SECRET : 'a-secret-of-a-stranger';
  return signed({ ...claims, events: { [EVENT]: {} } }, secret, LOGOUT_HEADER);
}

/** Returns the person of a token, as the business API verifies it, or null if the API does not accept the token. */
export function readBearer(text: string): { history: number; person: Person } | null {
  const [header = '', payload = '', signature = ''] = text.split('.');
  const right = Buffer.from(sign(`${header}.${payload}`, SECRET));
  const given = Buffer.from(signature);
  if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
  const claims = payloadOf(text);
  if (claims.iss !== ISSUER || claims.aud !== AUDIENCE || Number(claims.exp) <= nowSeconds()) return null;
  const [, name, history] = /^([a-z]+)(\d+)$/.exec(String(claims.sub)) ?? [];
  return { history: Number(history), person: claims.tenant_id === undefined ? (name as Who) : 'tenant' };
}

export function originOf(text: string): Origin {
  const { sub, tenant_id = null, sid = null, iat = null } = payloadOf(text);
  return { sub, tenant: tenant_id, sid, iat } as Origin;
}

function payloadOf(text: string): Claims {
  return JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()) as Claims;
}

/** Returns the history to which a token belongs, whether or not the token is valid. */
export function historyOf(text: string): number | null {
  const payload = Buffer.from(text.split('.')[1] ?? '', 'base64url').toString();
  const found = /"sub":"[a-z]+(\d+)"/.exec(payload)?.[1];
  return found === undefined ? null : Number(found);
}

type Claims = Record<string, unknown>;

function claimsOf(history: number, who: Who): Claims {
  return {
    sub: subOf(history, who),
    email: emailOf(history, who),
    exp: nowSeconds() + 24 * 3600,
    iss: ISSUER,
    aud: AUDIENCE,
  };
}

const HEADER = encoded({ alg: 'HS256', typ: 'JWT' });
const LOGOUT_HEADER = encoded({ alg: 'HS256', typ: 'logout+jwt' });

function signed(claims: Claims, secret: string = SECRET, header = HEADER): string {
  const content = `${header}.${encoded(claims)}`;
  return `${content}.${sign(content, secret)}`;
}

function sign(content: string, secret: string): string {
  return createHmac('sha256', secret).update(content).digest('base64url');
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
