import { isLoopback } from '../loopback.ts';

/** Is this an address of this machine alone, where a platform's API can be stood in for? */
export function isStandInAddress(url: URL): boolean {
  return url.protocol === 'http:' && isLoopback(url);
}
