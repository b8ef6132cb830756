import type { Log } from '../process/log.ts';
import type { Middleware } from './exchange.ts';

/**
 * Warns once per start if `X-Forwarded-For` arrives while no proxy is trusted. All clients of a proxy would share the
 * limits of its address.
 */
export function warnOfForwarded(trustProxy: number, log: Log): Middleware {
  let warned = trustProxy > 0;
  return (ctx, next) => {
    if (!warned && ctx.req.headers['x-forwarded-for'] !== undefined) {
      warned = true;
      log.warn(
        { request_id: ctx.state.request_id, address: ctx.state.address },
        'X-Forwarded-For arrived, but TRUST_PROXY is 0, so the header is ignored: all clients of a proxy share the limits of its address; set TRUST_PROXY to the number of proxies in front of the daemon',
      );
    }
    return next();
  };
}
