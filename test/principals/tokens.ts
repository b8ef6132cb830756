import { createHmac, timingSafeEqual } from 'node:crypto';
import { SECRET } from '../support/daemon.ts';

/**
 * The persons whom tokens can name. `tenant` is the attacker at another tenant of the same issuer, with the victim's
 * `sub`. This is another person, because `iss`, `tenant_id` and `sub` together identify a person.
 */
export const PERSONS = ['attacker', 'victim', 'tenant'] as const;
export type Person = (typeof PERSONS)[number];
export type Who = 'attacker' | 'victim';

/**
 * Tokens that a principal can present. `renewed` is a second valid token. `short` expires within the hour. `forged`
 * names the other principal, and is signed with another secret. `issuer` and `audience` name the other principal, and
 * are signed with the right secret, but were issued by or for another application.
 */
export const TOKEN_KINDS = [
  'own',
  'renewed',
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

/** @param hour the hour of the history, which changes only a few times */
export function makeToken(history: number, who: Who, kind: TokenKind, hour: number): Token {
  const other: Who = who === 'attacker' ? 'victim' : 'attacker';
  const token = (person: Person | null, expires: number, text: string): Token => ({
    kind,
    text,
    person,
    expires,
  });
  const FAR = 1000;
  switch (kind) {
    case 'own':
      return token(who, FAR, signed(claimsOf(history, who)));
    case 'renewed':
      return token(who, FAR, signed({ ...claimsOf(history, who), jti: 'renewed' }));
    case 'short':
      return token(who, hour + 1, signed({ ...claimsOf(history, who), exp: nowSeconds() + 1800 }));
    case 'expired':
      return token(who, -1, signed({ ...claimsOf(history, who), exp: nowSeconds() - 60 }));
    case 'forged':
      return token(null, 0, signed(claimsOf(history, other), 'a-secret-that-the-daemon-does-not-have'));
    case 'issuer':
      return token(null, 0, signed({ ...claimsOf(history, other), iss: 'https://other.example.com' }));
    case 'audience':
      return token(null, 0, signed({ ...claimsOf(history, other), aud: 'another-application' }));
    case 'garbage':
      return token(null, 0, `no.token.${who}`);
    case 'tenant':
      return token(
        who === 'attacker' ? 'tenant' : who,
        FAR,
        signed(
          who === 'attacker'
            ? {
                ...claimsOf(history, 'victim'),
                email: emailOf(history, 'tenant'),
                tenant_id: `tenant${history}`,
              }
            : claimsOf(history, who),
        ),
      );
  }
}

/** Returns the person of a token, as the business API verifies it, or null if the API does not accept the token. */
export function readBearer(text: string): { history: number; person: Person } | null {
  const [header = '', payload = '', signature = ''] = text.split('.');
  const right = Buffer.from(sign(`${header}.${payload}`, SECRET));
  const given = Buffer.from(signature);
  if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  if (claims.iss !== ISSUER || claims.aud !== AUDIENCE || Number(claims.exp) <= nowSeconds()) return null;
  const [, name, history] = /^([a-z]+)(\d+)$/.exec(String(claims.sub)) ?? [];
  return { history: Number(history), person: claims.tenant_id === undefined ? (name as Who) : 'tenant' };
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

function signed(claims: Claims, secret = SECRET): string {
  const content = `${HEADER}.${encoded(claims)}`;
  return `${content}.${sign(content, secret)}`;
}

function sign(content: string, secret: string): string {
  return createHmac('sha256', secret).update(content).digest('base64url');
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
