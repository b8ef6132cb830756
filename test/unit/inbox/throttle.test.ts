import { describe, expect, it } from 'vitest';
import { Throttle } from '../../../src/daemon/inbox/notify.ts';

function limited() {
  const clock = { now: 0 };
  const limit = new Throttle(() => clock.now);
  const give = (reader: string, text: string) => {
    const allowed = limit.allows(reader, text);
    if (allowed) limit.note(reader, text);
    return allowed;
  };
  return { clock, limit, give };
}

describe('hints to one reader', () => {
  it('are sent at most once in three seconds if they have the same text', () => {
    const { clock, give } = limited();
    expect([give('ada', 'x'), give('ada', 'x'), give('ada', 'y'), give('bob', 'x')]).toEqual([
      true,
      false,
      true,
      true,
    ]);
    clock.now = 2_999;
    expect(give('ada', 'x')).toBe(false);
    clock.now = 3_000;
    expect(give('ada', 'x')).toBe(true);
  });

  it('are at most ten per minute', () => {
    const { clock, give } = limited();
    for (let n = 0; n < 10; n++) expect(give('ada', `x${n}`)).toBe(true);
    expect(give('ada', 'y')).toBe(false);
    clock.now = 60_000;
    expect(give('ada', 'y')).toBe(true);
  });

  it('are at most thirty per hour', () => {
    const { clock, give } = limited();
    for (let n = 0; n < 30; n++) {
      expect(give('ada', 'x')).toBe(true);
      clock.now += 60_000;
    }
    expect(give('ada', 'x')).toBe(false);
    clock.now = 3_600_000;
    expect(give('ada', 'x')).toBe(true);
  });

  it('are forgotten for the oldest reader when there are more than 10,000 readers', () => {
    const { limit } = limited();
    for (let n = 0; n <= 10_000; n++) limit.note(`reader ${n}`, 'x');
    expect([limit.allows('reader 0', 'x'), limit.allows('reader 10000', 'x')]).toEqual([true, false]);
  });
});
