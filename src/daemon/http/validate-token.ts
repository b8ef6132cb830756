import type { ChannelRequest, Route } from '../../channel/index.ts';
import type { TokenValidator } from '../identity/identity.ts';
import type { Middleware } from './exchange.ts';

/** Validates the user token of a request, once, for both the rate limit and the message. */
export function validateToken(tokens: TokenValidator): Middleware {
  return async ({ state: { route, request } }, next) => {
    const token = tokenOf(route, request);
    if (token) request.validated = { token, verdict: await tokens.validate(token, request.id) };
    await next();
  };
}

/** A body that cannot be read has no token. The handler fails with the same error, and that becomes the response. */
function tokenOf(route: Route, request: ChannelRequest): string | null | undefined {
  try {
    return route.token?.(request);
  } catch {
    return null;
  }
}
