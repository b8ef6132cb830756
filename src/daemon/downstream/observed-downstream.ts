import type { Observer } from '../trace/observer.ts';
import { type Downstream, DownstreamFailure } from './client.ts';

/**
 * Wraps a client, to report the outcome of each request to the observer. Nothing is reported for a request that the
 * caller aborted, or for a request that was never made because its address was refused.
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
