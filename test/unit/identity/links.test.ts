import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  effectiveExpiry,
  findLink,
  type LinkServices,
  link,
  unlink,
} from '../../../src/daemon/identity/links.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { laterHouse } from '../../harness/later-house.ts';
import type { LogLine } from '../../harness/log-lines.ts';
import { token } from '../../harness/tokens.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

const HOUR = 3_600_000;
const MONTH = 2_592_000 * 1000;
const KEY = Buffer.alloc(32, 1).toString('base64');

let store: Store;
let house: LinkServices;
let lines: LogLine[];
let ahead: number;

beforeEach(async () => {
  ahead = 0;
  store = openAt(join(stateDirectory(), 'agentd.db'));
  ({ house, lines } = await laterHouse(store, { now: () => Date.now() + ahead }));
});

const never = () => false;

describe('a link', () => {
  it('is stored under the documented key, with the token as its value, for 30 days', async () => {
    const mine = await token({ ttl: 7200 });
    const outcome = await link(house, 'telex', '+15550100', mine);
    expect(outcome).toMatchObject({ linked: true, verdict: { valid: true } });
    const stored = await store.links.get('telex:jwt:+15550100');
    expect(stored?.token).toBe(mine);
    expect(stored?.expires_at).toBeGreaterThan(Date.now() + MONTH - HOUR);
    const found = await findLink(house, 'telex', '+15550100');
    expect(found).toMatchObject({ key: 'telex:jwt:+15550100', token: mine, lapse_told: false });
    // The token ends first.
    expect(found && effectiveExpiry(found)).toBeLessThan(Date.now() + 3 * HOUR);
    expect(outcome).toMatchObject({ expires_at: found && effectiveExpiry(found) });
  });

  it('ends with its 30 days where the token lives longer', async () => {
    const outcome = await link(house, 'telex', 'u1', await token({ ttl: 60 * 86_400 }));
    if (!outcome.linked) throw new Error('not linked');
    expect(outcome.expires_at).toBeLessThanOrEqual(Date.now() + MONTH);
  });

  it('is not made with a token that is no use', async () => {
    expect(await link(house, 'telex', 'u1', await token({ ttl: -1 }))).toEqual({
      linked: false,
      reason: 'Token Expired',
    });
    expect(await findLink(house, 'telex', 'u1')).toBeNull();
  });

  it('is sealed to its key where a key is set: copied to another user it opens for nobody', async () => {
    const sealed = await laterHouse(store, { now: () => Date.now() }, KEY);
    const mine = await token();
    await link(sealed.house, 'telex', 'u1', mine);
    const stored = await store.links.get('telex:jwt:u1');
    expect(stored?.token).not.toContain(mine.split('.')[1]);
    expect((await findLink(sealed.house, 'telex', 'u1'))?.token).toBe(mine);
    await store.links.put('telex:jwt:u2', stored?.token ?? '', null, MONTH);
    expect(await findLink(sealed.house, 'telex', 'u2')).toBeNull();
    expect(sealed.lines.at(-1)).toMatchObject({
      level: 'warn',
      msg: 'linked token does not open with any TOKEN_ENCRYPTION_KEY',
    });
  });

  it('of another person is taken over only where that is allowed', async () => {
    const adas = await token({ sub: 'ada' });
    await link(house, 'telex', 'u1', adas);
    const bobs = await token({ sub: 'bob' });
    expect(await link(house, 'telex', 'u1', bobs, never)).toEqual({
      linked: false,
      reason: 'held_by_another',
    });
    expect((await findLink(house, 'telex', 'u1'))?.token).toBe(adas);
    const asked: unknown[] = [];
    const outcome = await link(house, 'telex', 'u1', bobs, (holder, claims) => {
      asked.push(holder.claims.sub, claims.sub);
      return true;
    });
    expect(outcome.linked).toBe(true);
    expect(asked).toEqual(['ada', 'bob']);
    expect((await findLink(house, 'telex', 'u1'))?.token).toBe(bobs);
  });

  it("is renewed by its own person, and an expired one is nobody's", async () => {
    await link(house, 'telex', 'u1', await token({ sub: 'ada' }));
    expect((await link(house, 'telex', 'u1', await token({ sub: 'ada', ttl: 60 }), never)).linked).toBe(true);
    ahead = 61_000;
    expect((await link(house, 'telex', 'u1', await token({ sub: 'bob' }), never)).linked).toBe(true);
  });

  it('is decided and replaced in one: of two people at once, who may not take over, one gets it', async () => {
    const [adas, bobs] = [await token({ sub: 'ada' }), await token({ sub: 'bob' })];
    const outcomes = await Promise.all([
      link(house, 'telex', 'u1', adas, never),
      link(house, 'telex', 'u1', bobs, never),
    ]);
    expect(outcomes.filter(({ linked }) => linked)).toHaveLength(1);
    expect(outcomes.find(({ linked }) => !linked)).toMatchObject({ reason: 'held_by_another' });
  });

  it('is removed, and no token is ever logged', async () => {
    const mine = await token();
    await link(house, 'telex', 'u1', mine);
    expect(await unlink(house, 'telex', 'u1')).toBe(true);
    expect(await unlink(house, 'telex', 'u1')).toBe(false);
    expect(await findLink(house, 'telex', 'u1')).toBeNull();
    expect(JSON.stringify(lines)).not.toContain(mine.split('.')[1]);
  });
});
