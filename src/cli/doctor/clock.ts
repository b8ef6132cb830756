import type { ClockReading } from './ask.ts';
import type { Finding } from './finding.ts';

const CHECK = 'clock';
/** More than this, and signatures and tokens are refused for their time, ms. */
const OFF_MAX = 60_000;

/** Has this machine the same time as those that were asked? They tell it by the second. */
export function checkClock(readings: readonly ClockReading[]): Finding[] {
  const latest = new Map(readings.map((reading) => [reading.whose, reading]));
  if (latest.size === 0)
    return [{ check: CHECK, outcome: 'skipped', detail: 'no other machine told what time it has' }];
  const off = [...latest.values()].filter(({ theirs, ours }) => Math.abs(theirs - ours) > OFF_MAX);
  if (off.length === 0)
    return [{ check: CHECK, outcome: 'ok', detail: `as that of ${[...latest.keys()].sort().join(', ')}` }];
  return off.map(({ whose, theirs, ours }) => ({
    check: CHECK,
    outcome: 'warning',
    detail: `${Math.round(Math.abs(ours - theirs) / 1000)} seconds ${ours > theirs ? 'ahead of' : 'behind'} that of ${whose}`,
    advice: 'Have both machines keep time (NTP): tokens and signatures are good for a while only.',
  }));
}
