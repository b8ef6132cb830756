import Koa from 'koa';
import type { Context, Exchange } from './exchange.ts';

/** The status in logs and metrics if a connection closed before there was an answer. Proxies log the same status. */
const NOT_ANSWERED = 499;

/**
 * An application whose middleware ends every response itself. Koa would do so afterwards, and listens to each response
 * and its connection until then, which needs 2 KB for as long as a stream is open.
 */
export class App extends Koa<Exchange> {
  constructor() {
    super();
    // A version of Koa that does not call `handleRequest` leaves the responses alone as well.
    this.context.respond = false;
  }

  /** Called by the function that `callback` returns. */
  async handleRequest(ctx: Context, answer: (ctx: Context) => Promise<void>): Promise<void> {
    ctx.res.statusCode = NOT_ANSWERED;
    try {
      await answer(ctx);
    } catch (error) {
      ctx.onerror(error as Error);
    }
  }
}
