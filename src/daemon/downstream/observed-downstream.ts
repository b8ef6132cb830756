import type { Observer } from '../trace/observer.ts';
import { type Downstream, DownstreamFailure } from './client.ts';

/**
 * The same client; it tells the observer how each request ended. One that the caller gave up has no end to tell, and one
 * whose address was refused was not made.
 */
export function observedDownstream(
  downstream: Downstream,
  source: string,
  observer: Pick<Observer, 'downstreamEnded'>,
): Downstream {
  return {
    async send(request) {
      const began = performance.now();
      const end = (status: number | string) =>
        observer.downstreamEnded(source, status, (performance.now() - began) / 1000);
      try {
        const response = await downstream.send(request);
        end(response.status);
        return response;
      } catch (error) {
        if (error instanceof DownstreamFailure && error.reason !== 'path_refused')
          end(error.status ?? error.reason);
        throw error;
      }
    },
  };
}
