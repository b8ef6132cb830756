import { createHash, timingSafeEqual } from 'node:crypto';
import type { Route } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { Secret } from '../settings/secret.ts';

export interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
}

/**
 * `GET /metrics` of the admin listener.
 * @param token ADMIN_TOKEN, required as the bearer token; undefined if no token is required
 */
export function metricsRoute(metrics: MetricsPage, token: Secret | undefined): Route {
  return {
    method: 'GET',
    path: '/metrics',
    async handle({ headers }) {
      if (token !== undefined && !isBearer(headers.authorization, token))
        throw new AgentdError('token_missing', 'The metrics need ADMIN_TOKEN as the bearer token.');
      return { headers: { 'Content-Type': metrics.contentType }, body: await metrics.text() };
    },
  };
}

/** Compares hashes, so that the time of the comparison reveals nothing about the token. */
function isBearer(authorization: unknown, token: Secret): boolean {
  if (typeof authorization !== 'string') return false;
  return timingSafeEqual(
    digest(authorization.replace(/^bearer +/i, 'Bearer ')),
    digest(`Bearer ${token.reveal()}`),
  );
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
