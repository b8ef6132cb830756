import type { ChannelRequest, Route } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import { personKey, type TokenValidator } from '../identity/identity.ts';
import type { Settings } from '../settings/settings.ts';
import type { WindowState } from '../store/limits.ts';
import type { Store } from '../store/store.ts';
import type { Context } from './exchange.ts';
import { validateOnce } from './validate-once.ts';

export interface RateLimitParts {
  settings: Pick<Settings, 'RATE_LIMIT_TOKEN_MAX' | 'RATE_LIMIT_ANONYMOUS_MAX' | 'RATE_LIMIT_WINDOW_SECONDS'>;
  store: Pick<Store, 'limits'>;
  tokens: TokenValidator;
}

/**
 * Counts a request against its sender's one window over all limited routes: a person's, where a valid token
 * came with it, else the client address's (service.md, "Limits"; decisions §1). Tells the state of the window
 * in `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10).
 * Throws `rate_limited`; then the request did not count.
 */
export type RateLimit = (ctx: Context, route: Route, request: ChannelRequest) => Promise<void>;

export function createRateLimit({ settings, store, tokens }: RateLimitParts): RateLimit {
  const seconds = settings.RATE_LIMIT_WINDOW_SECONDS;
  const window_ms = seconds * 1000;
  return async (ctx, route, request) => {
    const sender = await senderOf(route, request, tokens);
    const max =
      sender.policy === 'person' ? settings.RATE_LIMIT_TOKEN_MAX : settings.RATE_LIMIT_ANONYMOUS_MAX;
    const state = await store.limits.hit(sender.key, { max, window_ms });
    ctx.set('RateLimit-Policy', `"${sender.policy}";q=${max};w=${seconds}`);
    ctx.set('RateLimit', `"${sender.policy}";r=${state.remaining};t=${secondsToRoom(state)}`);
    if (state.allowed) return;
    throw new AgentdError('rate_limited', `More than ${max} requests within ${seconds} seconds.`, {
      retryAfter: state.retry_after_ms / 1000,
    });
  };
}

async function senderOf(
  route: Route,
  request: ChannelRequest,
  tokens: TokenValidator,
): Promise<{ policy: 'person' | 'address'; key: string }> {
  const token = tokenOf(route, request);
  if (token) {
    const verdict = await validateOnce(tokens, request).validate(token);
    if (verdict.valid) return { policy: 'person', key: `http:person:${personKey(verdict.claims)}` };
  }
  return { policy: 'address', key: `http:address:${request.address}` };
}

/** A body that cannot be read holds no token; the handler meets the same error, and that one is answered. */
function tokenOf(route: Route, request: ChannelRequest): string | null | undefined {
  try {
    return route.token?.(request);
  } catch {
    return null;
  }
}

/** Until one more request has room, where there is none; else until all have. */
function secondsToRoom(state: WindowState): number {
  return Math.ceil((state.remaining === 0 ? state.retry_after_ms : state.reset_ms) / 1000);
}
