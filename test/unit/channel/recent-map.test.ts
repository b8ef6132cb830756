import { describe, expect, it } from 'vitest';
import { RecentMap } from '../../../src/channel/index.ts';

describe('a map of recent entries', () => {
  it('forgets the entry that was set the longest time ago', () => {
    const map = new RecentMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3).set('c', 4);
    expect([...map]).toEqual([
      ['a', 3],
      ['c', 4],
    ]);
  });
});
