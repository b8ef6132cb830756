import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LiveMap, LiveSet } from '../../../src/daemon/time/live-map.ts';

describe('LiveMap', () => {
  test('has what was set and not deleted, however many entries have come and gone', () => {
    const map = new LiveMap<string, number>();
    const model = new Map<string, number>();
    for (let n = 0; n < 1000; n++) {
      for (const one of [map, model]) {
        one.set(`key ${n}`, n);
        if (n % 10 !== 0) one.delete(`key ${n - 5}`);
      }
      expect(map.size).toBe(model.size);
    }
    expect(map.keys()).toEqual([...model.keys()]);
    expect([map.get('key 5'), map.get('key 999'), map.has('key 6')]).toEqual([5, 999, false]);
    expect([map.delete('key 5'), map.delete('key 5')]).toEqual([true, false]);
  });
});

describe('LiveSet', () => {
  test('goes over the members of one moment, except those that are deleted meanwhile', () => {
    const set = new LiveSet<number>();
    for (let n = 0; n < 200; n++) set.add(n);
    const met: number[] = [];
    for (const member of set) {
      met.push(member);
      set.delete(member + 1);
      set.add(1000 + member);
    }
    expect(met).toEqual(Array.from({ length: 100 }, (_, n) => 2 * n));
  });
});

test('messages that come and go are not kept until the next full garbage collection', () => {
  const flags = ['--expose-gc', '--no-allocation-site-pretenuring'];
  const space = ['--min-semi-space-size=2', '--max-semi-space-size=2'];
  const program = join(import.meta.dirname, '../../fixtures/old-space.ts');
  const grown = JSON.parse(
    execFileSync(process.execPath, [...flags, ...space, program], { encoding: 'utf8' }),
  );
  // KiB of about 10,000. What the classes replace shows that the figures can be others.
  expect(grown).toEqual({
    Map: expect.closeTo(7000, -4),
    LiveMap: expect.closeTo(0, -3),
    getter: expect.closeTo(10_000, -4),
    lazy_member: expect.closeTo(0, -3),
  });
});
