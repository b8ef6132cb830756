import { isLoopback } from '../settings/addresses.ts';

/** Whether the address is plain HTTP on this machine's loopback interface, where a platform's API can be simulated. */
export function isStandInAddress(url: URL): boolean {
  return url.protocol === 'http:' && isLoopback(url);
}
