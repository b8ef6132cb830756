import { createHmac } from 'node:crypto';

/** The secret that signs the tokens of the benchmarks, of at least 256 bits. */
export const SECRET = 'a-secret-for-benchmarks-of-at-least-256-bits';

/** The key with which the daemon seals the stored tokens. */
export const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64');

/** What everybody asks. */
export const QUESTION =
  'Where is my order ########? It should have come last week, and nobody has told me anything.';
/** The reply to everybody. */
export const REPLY = 'Your order left our warehouse this morning and arrives on Thursday.';

const HEADER = encode({ alg: 'HS256', typ: 'JWT' });

export const userId = (person: number) => `visitor-${person}`;
export const sessionId = (person: number) => `benchmark-session-${person}`;

/** Claims as the site backend makes them (agentd-identity(7), "Claims"). They give a token of about 440 bytes. */
export function claimsOf(person: number, exp: number) {
  return {
    sub: `user-${person}`,
    email: `user-${person}@customers.example.com`,
    name: `Benchmark Visitor ${person}`,
    roles: ['customer', 'newsletter'],
    iss: 'https://shop.example.com',
    aud: 'agentd',
    iat: exp - 86_400,
    exp,
  };
}

/** @param exp seconds since the epoch; equal values give the same token. */
export function tokenOf(person: number, exp: number): string {
  const signed = `${HEADER}.${encode(claimsOf(person, exp))}`;
  return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`;
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
