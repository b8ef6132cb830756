import type { ChannelRequest, Route } from '../../channel/index.ts';
import type { TokenValidator } from '../identity/identity.ts';
import type { Middleware } from './exchange.ts';

/** Validates the user token of a request, once, for the rate limit and for the message that it brings. */
export function validateToken(tokens: TokenValidator): Middleware {
  return async ({ state: { route, request } }, next) => {
    const token = tokenOf(route, request);
    if (token) request.validated = { token, verdict: await tokens.validate(token, request.id) };
    await next();
  };
}

/** A body that cannot be read holds no token; the handler meets the same error, and that one is answered. */
function tokenOf(route: Route, request: ChannelRequest): string | null | undefined {
  try {
    return route.token?.(request);
  } catch {
    return null;
  }
}
