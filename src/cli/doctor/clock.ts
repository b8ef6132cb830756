import { type Finding, findingsOf } from './finding.ts';
import type { ClockReading } from './probe-client.ts';

const { ok, warning, skipped } = findingsOf('clock');
/** Maximum difference, ms. With a larger difference, tokens and signatures are refused because of their timestamps. */
const OFF_MAX = 60_000;

/** Checks whether the clock of this machine agrees with the clocks of the machines that answered. */
export function checkClock(readings: readonly ClockReading[]): Finding[] {
  const latest = new Map(readings.map((reading) => [reading.whose, reading]));
  if (latest.size === 0) return [skipped('no other machine reported its time')];
  const off = [...latest.values()].filter(({ theirs, ours }) => Math.abs(theirs - ours) > OFF_MAX);
  if (off.length === 0) return [ok(`same as ${[...latest.keys()].sort().join(', ')}`)];
  return off.map(({ whose, theirs, ours }) =>
    warning(
      `${Math.round(Math.abs(ours - theirs) / 1000)} seconds ${ours > theirs ? 'ahead of' : 'behind'} ${whose}`,
      'Synchronize the clocks of both machines (NTP): tokens and signatures are valid for a limited time.',
    ),
  );
}
