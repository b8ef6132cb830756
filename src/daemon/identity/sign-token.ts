import { type JWTPayload, SignJWT } from 'jose';
import type { Secret } from '../settings/secret.ts';

/** Signs a token with HS256, for `agentd token issue` and `serve --dev`. The daemon never issues tokens. */
export function signToken(claims: Readonly<Record<string, unknown>>, secret: Secret): Promise<string> {
  return new SignJWT(claims as JWTPayload)
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .sign(new TextEncoder().encode(secret.reveal()));
}
