import type { Observer } from '../../trace/observer.ts';
import { type Downstream, DownstreamFailure, type DownstreamReason } from './client.ts';

/** The failures of requests that were refused before they were made. */
const NEVER_MADE: readonly DownstreamReason[] = ['path_refused', 'credential_refused'];

/**
 * Wraps a client, to report the outcome of each request to the observer. Nothing is reported for a request that the
 * caller aborted, or for a request that was never made because it was refused here.
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
        if (error instanceof DownstreamFailure && !NEVER_MADE.includes(error.reason))
          end(error.status ?? error.reason);
        throw error;
      }
    },
  };
}
