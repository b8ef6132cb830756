import { expect, it } from 'vitest';
import { formatMinute } from '../../../src/channel/index.ts';

const AT = Date.UTC(2026, 0, 31, 22, 5, 59);

it('formatMinute gives the time in the time zone', () => {
  expect(formatMinute(AT, 'Asia/Tokyo')).toBe('2026-02-01 07:05');
  expect(formatMinute(AT, 'America/St_Johns')).toBe('2026-01-31 18:35');
});

it.each([undefined, null, '', 'Mars/Olympus', 'x'.repeat(1000)])(
  'formatMinute says UTC for the zone %j',
  (zone) => {
    expect(formatMinute(AT, zone)).toBe('2026-01-31 22:05 UTC');
  },
);
