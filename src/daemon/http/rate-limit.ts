import { AgentdError } from '../errors.ts';
import type { Settings } from '../settings/settings.ts';
import type { WindowState } from '../store/limits/limits.ts';
import type { Store } from '../store/store.ts';
import type { Middleware } from './exchange.ts';
import type { ReceivedRequest } from './received-request.ts';

interface RateLimitParts {
  /** Read at each request: they may change. */
  readonly settings: Pick<
    Settings,
    'RATE_LIMIT_TOKEN_MAX' | 'RATE_LIMIT_ANONYMOUS_MAX' | 'RATE_LIMIT_WINDOW_SECONDS'
  >;
  store: Pick<Store, 'limits'>;
}

/**
 * Counts a request in the window of its sender: the person if a valid token came with the request, otherwise the client
 * address. A sender has one window for all limited routes. The headers `RateLimit` and `RateLimit-Policy` show its
 * state (draft-ietf-httpapi-ratelimit-headers-10). Throws `rate_limited` if the window is full; the refused request is
 * not counted.
 */
export function rateLimit(parts: RateLimitParts): Middleware {
  const { store } = parts;
  return async (ctx, next) => {
    const { route, request } = ctx.state;
    if (route.limited) {
      const { settings } = parts;
      const seconds = settings.RATE_LIMIT_WINDOW_SECONDS;
      const { policy, key } = identifySender(request);
      const max = policy === 'person' ? settings.RATE_LIMIT_TOKEN_MAX : settings.RATE_LIMIT_ANONYMOUS_MAX;
      const { headers, refusal } = await countRequest(store, key, { policy, max, seconds });
      ctx.state.head.setAll(headers);
      if (refusal !== null) throw refusal;
    }
    await next();
  };
}

/** Counts a request in a window. @returns the headers of its answer, and the problem if the window is full */
export async function countRequest(
  store: Pick<Store, 'limits'>,
  key: string,
  { policy, max, seconds }: { policy: 'person' | 'address'; max: number; seconds: number },
): Promise<{ headers: Record<string, string>; refusal: AgentdError | null }> {
  const state = await store.limits.hit(key, { max, window_ms: seconds * 1000 });
  const headers = {
    'RateLimit-Policy': `"${policy}";q=${max};w=${seconds}`,
    RateLimit: `"${policy}";r=${state.remaining};t=${secondsToRoom(state)}`,
  };
  if (state.allowed) return { headers, refusal: null };
  const detail = `More than ${max} requests within ${seconds} seconds.`;
  const retryAfter = state.retry_after_ms / 1000;
  return { headers, refusal: new AgentdError('rate_limited', detail, { retryAfter, headers }) };
}

function identifySender({ validated, address }: ReceivedRequest): {
  policy: 'person' | 'address';
  key: string;
} {
  return validated?.verdict.valid
    ? { policy: 'person', key: `http:person:${validated.verdict.person}` }
    : { policy: 'address', key: `http:address:${address}` };
}

/**
 * If the window is full, seconds until there is room for one more request. Otherwise, seconds until the window is
 * empty.
 */
function secondsToRoom(state: WindowState): number {
  return Math.ceil((state.remaining === 0 ? state.retry_after_ms : state.reset_ms) / 1000);
}
