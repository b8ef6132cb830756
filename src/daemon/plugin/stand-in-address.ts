import { isLoopback } from '../loopback.ts';

/** Whether only this machine can reach the address, so that a platform's API can be simulated there. */
export function isStandInAddress(url: URL): boolean {
  return url.protocol === 'http:' && isLoopback(url);
}
