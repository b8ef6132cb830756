import { expect, it } from 'vitest';
import {
  completeRanges,
  completeRedirection,
  type SlotRange,
} from '../../../src/daemon/store/kernels/redis/cluster-hosts.ts';

it('completes an address without a host, unless its node has left the Cluster', () => {
  const nodes = (...named: [string | null, number][]): SlotRange[] => [[0, 16_383, ...named]];
  const ranges = nodes(['', 7000], [null, 7001], ['192.0.2.2', 7002], ['', 0]);
  expect(completeRanges(ranges, '192.0.2.1')).toEqual(
    nodes(['192.0.2.1', 7000], ['192.0.2.1', 7001], ['192.0.2.2', 7002], ['', 0]),
  );
});

it('completes the address in a redirection, and changes no other error', () => {
  const completed = (message: string) => completeRedirection(new Error(message), '192.0.2.1').message;
  expect(completed('MOVED 3999 :6381')).toBe('MOVED 3999 192.0.2.1:6381');
  expect(completed('ASK 3999 :6381')).toBe('ASK 3999 192.0.2.1:6381');
  for (const message of ['MOVED 3999 ::1:6381', 'ASK 3999 192.0.2.2:6381', 'ERR no 1 :2'])
    expect(completed(message)).toBe(message);
});
