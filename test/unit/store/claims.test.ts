import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { CLAIM_MS } from '../../../src/daemon/store/claims.ts';
import { Claims } from '../../../src/daemon/store/sqlite/claims.ts';
import { GroupCommit } from '../../../src/daemon/store/sqlite/writer.ts';

function fixture() {
  const db = new Database(':memory:');
  onTestFinished(() => {
    db.close();
  });
  const time = { now: 1_000_000 };
  const commit = new GroupCommit(db);
  const claims = new Claims<string>(commit, { now: () => time.now });
  const take = (name: string) => {
    const owner = claims.take(name, `of ${name}`);
    if (owner === null) throw new Error(`${name} was already claimed`);
    return owner;
  };
  return { time, commit, claims, take };
}

it('a name has one owner at a time, and can be taken again after its owner has released it', () => {
  const { claims, take } = fixture();
  const first = take('a');
  expect(claims.take('a', '')).toBeNull();
  claims.release('a', 'another');
  expect(claims.take('a', '')).toBeNull();
  claims.release('a', first);
  const second = take('a');
  expect(second).not.toBe(first);
  expect([claims.holds('a', first), claims.holds('a', second)]).toEqual([false, true]);
  expect(claims.renew('a', first)).toBe(false);
  claims.release('a', first);
  expect(claims.holds('a', second)).toBe(true);
});

it('an expired claim can be renewed and used until another caller takes it over', () => {
  const { time, claims, take } = fixture();
  const first = take('a');
  time.now += CLAIM_MS;
  expect(claims.isValid('a')).toBe(false);
  expect(claims.holds('a', first)).toBe(true);
  expect(claims.renew('a', first)).toBe(true);
  expect(claims.take('a', '')).toBeNull();
  time.now += CLAIM_MS;
  take('a');
  expect(claims.holds('a', first)).toBe(false);
  expect(claims.renew('a', first)).toBe(false);
});

it('after the clock was set back, an old claim expires no later than a new claim would', () => {
  const { time, claims, take } = fixture();
  take('a');
  time.now -= 1_000_000;
  expect(claims.isValid('a')).toBe(true);
  time.now += CLAIM_MS;
  expect(claims.isValid('a')).toBe(false);
});

it('a claim stays with its owner if only the clock is set forward, without time passing', () => {
  const db = new Database(':memory:');
  onTestFinished(() => {
    db.close();
  });
  const time = { now: 1_000_000, steady: 5 };
  const clock = { now: () => time.now, steady: () => time.steady };
  const claims = new Claims<string>(new GroupCommit(db), clock);
  claims.take('a', '');
  time.now += 3_600_000;
  expect(claims.take('a', '')).toBeNull();
  time.steady += CLAIM_MS;
  expect(claims.take('a', '')).not.toBeNull();
});

it('claims that were released or ended use no memory', async () => {
  const { commit, claims, take } = fixture();
  const owners = Array.from({ length: 50 }, (_, n) => take(`n${n}`));
  expect(claims.size).toBe(50);
  owners.slice(1).forEach((owner, n) => {
    claims.release(`n${n + 1}`, owner);
  });
  expect(claims.size).toBe(1);
  await commit.write(() => claims.end('n0'));
  expect(claims.size).toBe(0);
});

it('claims begin and end with the commit, and stay unchanged if the commit fails', async () => {
  const { commit, claims, take } = fixture();
  const owner = take('ended');
  const failing = commit.write(() => {
    claims.begin('begun', '');
    claims.end('ended');
    expect([claims.isValid('begun'), claims.holds('ended', owner)]).toEqual([true, false]);
    throw new Error('a defect');
  });
  await expect(failing).rejects.toThrow('a defect');
  expect([claims.isValid('begun'), claims.holds('ended', owner)]).toEqual([false, true]);
  const begun = await commit.write(() => {
    claims.end('ended');
    return claims.begin('begun', '');
  });
  expect([claims.holds('begun', begun), claims.holds('ended', owner)]).toEqual([true, false]);
});

it('no claim can be taken or renewed after the store was closed', async () => {
  const { commit, claims, take } = fixture();
  const owner = take('a');
  await commit.close();
  expect(() => claims.take('b', '')).toThrow(StoreUnavailable);
  expect(() => claims.renew('a', owner)).toThrow(StoreUnavailable);
});
