import { setTimeout as delay } from 'node:timers/promises';
import { SignJWT } from 'jose';
import { SECRET } from './daemon.ts';

export interface TokenOptions {
  sub?: string;
  email?: string;
  /** Expiry in seconds from now; negative if expired. */
  ttl?: number;
  secret?: string;
  /** Further claims. The value undefined removes a claim. */
  claims?: Record<string, unknown>;
  alg?: string;
}

/** A token like those of the site backend (agentd-identity(7), "Claims"). */
export async function token(options: TokenOptions = {}): Promise<string> {
  const sub = options.sub ?? 'ada';
  const now = Math.floor(Date.now() / 1000);
  const claims: Record<string, unknown> = {
    sub,
    email: options.email ?? `${sub}@example.com`,
    name: sub,
    roles: ['customer'],
    iat: now - 10,
    exp: now + (options.ttl ?? 3600),
    ...options.claims,
  };
  for (const [name, value] of Object.entries(claims)) if (value === undefined) delete claims[name];
  return new SignJWT(claims)
    .setProtectedHeader({ alg: options.alg ?? 'HS256', typ: 'JWT' })
    .sign(new TextEncoder().encode(options.secret ?? SECRET));
}

/** Resolves when the token's `exp` has passed. */
export async function lapsed(token: string): Promise<void> {
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();
  const { exp } = JSON.parse(payload) as { exp: number };
  await delay(Math.max(0, exp * 1000 - Date.now()) + 10);
}
