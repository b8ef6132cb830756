import { describe, expect, it } from 'vitest';
import { SHARD_TAGS, SHARDS, shardOf } from '../../../src/daemon/store/redis/shards.ts';

describe('the shards of a Cluster', () => {
  it('never change, because otherwise stored data could not be found', () => {
    const names = ['', 's', 'telex:42', 'webchat_u_AAAAAAAAAAAAAAAAAAAAAA', 'größe'];
    expect(names.map(shardOf)).toEqual(['s25', 's14', 's51', 's34', 's01']);
    expect([SHARD_TAGS.length, SHARD_TAGS[0], SHARD_TAGS.at(-1)]).toEqual([64, 's00', 's63']);
  });

  it('get similar shares of names that differ only in a number', () => {
    const shares = new Map<string, number>();
    for (let n = 0; n < 1000 * SHARDS; n++) {
      const tag = shardOf(`telex:${n}`);
      shares.set(tag, (shares.get(tag) ?? 0) + 1);
    }
    expect(shares.size).toBe(SHARDS);
    for (const share of shares.values()) expect(Math.abs(share - 1000)).toBeLessThan(250);
  });
});
