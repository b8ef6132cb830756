import type { Observer } from '../trace/observer.ts';
import type { Middleware } from './exchange.ts';

/**
 * Reports each request to the observer after its answer was sent or its client has disconnected. Must be above
 * `problems`.
 */
export function observeRequests(observer: Pick<Observer, 'requestEnded'>): Middleware {
  return (ctx, next) => {
    const began = performance.now();
    ctx.res.on('close', () => {
      const { found, problem } = ctx.state;
      observer.requestEnded({
        route: found?.route?.path ?? null,
        method: ctx.method,
        status: ctx.res.statusCode,
        code: problem ?? null,
        seconds: (performance.now() - began) / 1000,
      });
    });
    return next();
  };
}
