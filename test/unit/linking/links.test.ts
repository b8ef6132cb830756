import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ChannelPlugin } from '../../../src/channel/index.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { createSeal } from '../../../src/daemon/identity/seal.ts';
import {
  effectiveExpiry,
  findLink,
  findSendersLink,
  findSendersReading,
  type LinkServices,
  listLinks,
  noteExpiryNotified,
} from '../../../src/daemon/linking/find-link.ts';
import { link, removeLink, unlink, unlinkPerson } from '../../../src/daemon/linking/links.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { LinkStore } from '../../../src/daemon/store/links/links.ts';
import type { Store } from '../../../src/daemon/store/store.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { dropLink } from '../../support/drop-link.ts';
import { laterServices, TELEX } from '../../support/later-services.ts';
import type { LogLine } from '../../support/log-lines.ts';
import { token } from '../../support/tokens.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

const HOUR = 3_600_000;
const MONTH = 2_592_000 * 1000;
const KEY = Buffer.alloc(32, 1).toString('base64');

type TestLinks = LinkServices & { store: Store };

let store: Store;
let services: TestLinks;
let lines: LogLine[];
let ahead: number;

beforeEach(async () => {
  ahead = 0;
  store = openAt(join(stateDirectory(), 'agentd.db'));
  ({ services, lines } = await laterServices(store, { ...systemClock, now: () => Date.now() + ahead }));
});

const ADA = personKey({ sub: 'ada' });
const never = () => false;

/** Services on which something happens just before a link is removed. */
function beforeRemoval(happen: (key: string) => Promise<unknown>): TestLinks {
  const { links } = store;
  const remove: LinkStore['remove'] = async (removed, also) => {
    for (const key of removed.keys()) await happen(key);
    return links.remove(removed, also);
  };
  return { ...services, store: { ...store, links: { ...links, remove } } };
}

describe('a link', () => {
  it('is stored under the documented key, with the token as its value, for 30 days', async () => {
    const mine = await token({ ttl: 7200 });
    const outcome = await link(services, TELEX, '+15550100', mine);
    expect(outcome).toMatchObject({ linked: true, verdict: { valid: true } });
    const stored = await store.links.get('telex:jwt:+15550100');
    expect(stored?.token).toBe(mine);
    expect(stored?.expires_at).toBeGreaterThan(Date.now() + MONTH - HOUR);
    const found = await findLink(services, TELEX, '+15550100');
    expect(found).toMatchObject({ key: 'telex:jwt:+15550100', token: mine, expiry_notified: false });
    // The token expires before the link.
    expect(found && effectiveExpiry(found)).toBeLessThan(Date.now() + 3 * HOUR);
    expect(outcome).toMatchObject({ expires_at: found && effectiveExpiry(found) });
  });

  it('expires after 30 days even if the token is valid for longer', async () => {
    const outcome = await link(services, TELEX, 'u1', await token({ ttl: 60 * 86_400 }));
    if (!outcome.linked) throw new Error('not linked');
    expect(outcome.expires_at).toBeLessThanOrEqual(Date.now() + MONTH);
  });

  it('is not created with an invalid token', async () => {
    expect(await link(services, TELEX, 'u1', await token({ ttl: -1 }))).toEqual({
      linked: false,
      reason: 'Token Expired',
    });
    expect(await findLink(services, TELEX, 'u1')).toBeNull();
  });

  it('is sealed if a key is set, so that a copy under another user cannot be opened', async () => {
    const sealed = await laterServices(store, systemClock, KEY);
    const mine = await token();
    await link(sealed.services, TELEX, 'u1', mine);
    const stored = await store.links.get('telex:jwt:u1');
    expect(stored?.token).not.toContain(mine.split('.')[1]);
    expect((await findLink(sealed.services, TELEX, 'u1'))?.token).toBe(mine);
    await store.links.put({ key: 'telex:jwt:u2', token: stored?.token ?? '', person: ADA, ttl_ms: MONTH });
    expect(await findLink(sealed.services, TELEX, 'u2')).toBeNull();
    expect(sealed.lines.at(-1)).toMatchObject({
      level: 'warn',
      msg: 'no encryption key can unseal the linked token',
    });
    // It belongs to nobody.
    const bobs = await token({ sub: 'bob' });
    expect(await link(sealed.services, TELEX, 'u2', bobs, never)).toMatchObject({
      linked: true,
      replaced: null,
    });
  });

  it('is replaced by the link of another person only if that is allowed', async () => {
    const adas = await token({ sub: 'ada' });
    await link(services, TELEX, 'u1', adas);
    const bobs = await token({ sub: 'bob' });
    expect(await link(services, TELEX, 'u1', bobs, never)).toMatchObject({
      linked: false,
      reason: 'held_by_another',
      holder: { person: ADA, claims: { email: 'ada@example.com' } },
    });
    expect((await findLink(services, TELEX, 'u1'))?.token).toBe(adas);
    const asked: unknown[] = [];
    const outcome = await link(services, TELEX, 'u1', bobs, (holder) => {
      asked.push(holder.claims.sub);
      return true;
    });
    expect(outcome.linked).toBe(true);
    expect(asked).toEqual(['ada']);
    expect((await findLink(services, TELEX, 'u1'))?.token).toBe(bobs);
  });

  it('can be renewed by its person, and replaced by anybody after it has expired', async () => {
    await link(services, TELEX, 'u1', await token({ sub: 'ada' }));
    expect((await link(services, TELEX, 'u1', await token({ sub: 'ada', ttl: 60 }), never)).linked).toBe(
      true,
    );
    ahead = 61_000;
    expect((await link(services, TELEX, 'u1', await token({ sub: 'bob' }), never)).linked).toBe(true);
  });

  it('is checked and replaced atomically: if two people link at the same time, only one of them succeeds', async () => {
    const [adas, bobs] = [await token({ sub: 'ada' }), await token({ sub: 'bob' })];
    const outcomes = await Promise.all([
      link(services, TELEX, 'u1', adas, never),
      link(services, TELEX, 'u1', bobs, never),
    ]);
    expect(outcomes.filter(({ linked }) => linked)).toHaveLength(1);
    expect(outcomes.find(({ linked }) => !linked)).toMatchObject({ reason: 'held_by_another' });
  });

  it('can be removed, and no token is ever logged', async () => {
    const mine = await token();
    await link(services, TELEX, 'u1', mine);
    expect(await unlink(services, TELEX, 'u1')).toBe(true);
    expect(await unlink(services, TELEX, 'u1')).toBe(false);
    expect(await findLink(services, TELEX, 'u1')).toBeNull();
    expect(JSON.stringify(lines)).not.toContain(mine.split('.')[1]);
  });
});

/** Imitates a platform that writes each number in several ways. Links are stored under `+1-…`. */
const NUMBERED: ChannelPlugin = {
  ...TELEX,
  linking: {
    argument: 'NUMBER',
    idsOf(given) {
      const digits = /^\+?1-?(\d+)$/.exec(given)?.[1];
      return digits === undefined ? [] : [`+1-${digits}`, `+1${digits}`];
    },
  },
};

describe('a link for an id with several spellings', () => {
  const putAt = async (user_id: string, member: string) => {
    const key = `telex:jwt:${user_id}`;
    const person = personKey({ sub: member });
    await store.links.put({ key, token: await token({ sub: member }), person, ttl_ms: MONTH });
  };
  const keys = async () => (await store.links.list({ limit: 10 })).map(({ key }) => key);
  const storedToken = async (key: string) =>
    ({ kind: 'link', key, token: (await store.links.get(key))?.token ?? '' }) as const;

  it('is stored under the first spelling, and found under each', async () => {
    await link(services, NUMBERED, '+1555', await token());
    expect(await keys()).toEqual(['telex:jwt:+1-555']);
    for (const written of ['+1555', '1555', '+1-555'])
      expect(await findLink(services, NUMBERED, written), written).toMatchObject({ key: 'telex:jwt:+1-555' });
    expect(await findLink(services, NUMBERED, '+1556')).toBeNull();
  });

  it('is found under another spelling if there is no link under the first spelling', async () => {
    await putAt('+1555', 'ada');
    expect(await findLink(services, NUMBERED, '+1-555')).toMatchObject({
      key: 'telex:jwt:+1555',
      person: ADA,
    });
    await putAt('+1-555', 'bob');
    expect(await findLink(services, NUMBERED, '+1555')).toMatchObject({ key: 'telex:jwt:+1-555' });
  });

  it('belongs to one person: a new link replaces the links under other spellings, if that is allowed', async () => {
    await putAt('+1555', 'ada');
    const bobs = await token({ sub: 'bob' });
    expect(await link(services, NUMBERED, '+1-555', bobs, never)).toMatchObject({
      reason: 'held_by_another',
    });
    expect(await keys()).toEqual(['telex:jwt:+1555']);
    expect(await link(services, NUMBERED, '+1-555', bobs)).toMatchObject({ linked: true });
    expect(await keys()).toEqual(['telex:jwt:+1-555']);
  });

  it('belongs to another person if any of its spellings does, even if the sender has linked a spelling, too', async () => {
    await putAt('+1-555', 'bob');
    await putAt('+1555', 'ada');
    const bobs = await token({ sub: 'bob' });
    expect(await link(services, NUMBERED, '+1555', bobs, never)).toMatchObject({ reason: 'held_by_another' });
    expect(await link(services, NUMBERED, '+1555', bobs)).toMatchObject({ linked: true });
    expect(await keys()).toEqual(['telex:jwt:+1-555']);
  });

  it('leaves a notice for its user, under the first spelling, if an operator removes or replaces it', async () => {
    const told = async () =>
      (await store.inbox.list({ states: ['replied'], limit: 9 })).map((one) => [
        one.user_id,
        one.link_change,
      ]);
    const linkTo = async (sub: string, how?: 'operator') =>
      link(services, NUMBERED, '1555', await token({ sub }), undefined, how);
    await linkTo('ada', 'operator');
    await linkTo('ada', 'operator');
    await linkTo('bob');
    await unlink(services, NUMBERED, '1555');
    expect(await told()).toEqual([]);
    await linkTo('ada');
    await linkTo('bob', 'operator');
    const replaced = [['+1-555', 'replaced']];
    expect(await told()).toEqual(replaced);
    await putAt('+1555', 'ada');
    expect(await removeLink(services, NUMBERED, '1555')).toBe(true);
    expect(await told()).toEqual([['+1-555', 'ended'], ...replaced]);
    expect(await removeLink(services, NUMBERED, '1555')).toBe(false);
    expect(await told()).toHaveLength(2);
  });

  it('is removed under all spellings', async () => {
    await putAt('+1555', 'ada');
    await putAt('+1-555', 'bob');
    expect(await unlink(services, NUMBERED, '1555')).toBe(true);
    expect(await keys()).toEqual([]);
    expect(await unlink(services, NUMBERED, '1555')).toBe(false);
  });

  it('is removed under all spellings or none, so that no older link takes effect in between', async () => {
    await putAt('+1555', 'bob');
    await putAt('+1-555', 'ada');
    let times = 0;
    const changed = beforeRemoval(async (key) => {
      if (times++ === 0)
        await store.replaceToken(await storedToken(key), await token({ sub: 'ada', ttl: 60 }));
    });
    expect(await unlink(changed, NUMBERED, '1555')).toBe(true);
    expect([await keys(), times]).toEqual([[], 4]);
    await putAt('+1-555', 'ada');
    const changing = beforeRemoval(async (key) =>
      store.replaceToken(await storedToken(key), await token({ sub: 'ada', ttl: 60 + times++ })),
    );
    await expect(unlink(changing, NUMBERED, '1555')).rejects.toMatchObject({ code: 'unavailable' });
    expect(await keys()).toEqual(['telex:jwt:+1-555']);
  });

  it("is removed for a person only if it is that person's link", async () => {
    await putAt('+1555', 'ada');
    const [adas, bobs] = [await token({ sub: 'ada' }), await token({ sub: 'bob' })];
    expect(await unlinkPerson(services, NUMBERED, '+1-555', bobs)).toEqual({ outcome: 'none' });
    expect(await unlinkPerson(services, NUMBERED, '+1-555', await token({ ttl: -1 }))).toEqual({
      outcome: 'invalid',
      reason: 'Token Expired',
    });
    expect(await keys()).toEqual(['telex:jwt:+1555']);
    expect(await unlinkPerson(services, NUMBERED, '+1-555', adas)).toEqual({ outcome: 'removed' });
    expect(await keys()).toEqual([]);
  });

  it('is kept if another person links the user while it is being removed', async () => {
    const bobs = await token({ sub: 'bob' });
    const taken = beforeRemoval(async (key) => {
      if (key === 'telex:jwt:+1-555') await link(services, NUMBERED, '+1555', bobs);
    });
    await link(services, NUMBERED, '+1555', await token({ sub: 'ada' }));
    await findSendersLink(services, NUMBERED, { user_id: '+1555', alias_id: 'US.1' });
    expect(await unlinkPerson(taken, NUMBERED, '+1555', await token({ sub: 'ada' }))).toEqual({
      outcome: 'none',
    });
    expect(await findLink(services, NUMBERED, '+1555')).toMatchObject({ token: bobs });
    await link(services, NUMBERED, '+1555', await token({ sub: 'ada' }));
    await findSendersLink(services, NUMBERED, { user_id: '+1555', alias_id: 'US.1' });
    await removeLink(taken, NUMBERED, 'US.1');
    expect(await findLink(services, NUMBERED, '+1555')).toMatchObject({ token: bobs });
  });

  it('is looked up under the id itself if the channel does not recognize the id', async () => {
    await link(services, NUMBERED, 'US.77', await token());
    expect(await keys()).toEqual(['telex:jwt:US.77']);
    expect(await findLink(services, NUMBERED, 'US.77')).toMatchObject({ person: ADA });
  });

  it.each([
    ['something other than a list', 'u1'],
    ['an empty id', ['']],
    ['a control character', ['a\n']],
    ['half of a surrogate pair', ['\ud800']],
    ['too many ids', Array.from({ length: 9 }, (_, n) => `u${n}`)],
  ])('is not looked up if the channel returns %s as spellings', async (_what, given) => {
    const broken = { name: 'telex', linking: { argument: 'ID', idsOf: () => given as string[] } };
    await expect(findLink(services, broken, 'u1')).rejects.toThrow(
      '`linking.idsOf` of the channel telex must return a list of at most 8 ids',
    );
  });
});

describe('a sender with a number and a second id', () => {
  const NUMBER = '+1-555';
  const sender = (user_id: string, alias_id?: string) =>
    findSendersLink(services, NUMBERED, { user_id, ...(alias_id === undefined ? {} : { alias_id }) });

  beforeEach(async () => {
    await link(services, NUMBERED, NUMBER, await token({ sub: 'ada' }));
  });

  it('is found by the second id alone only after both ids have arrived together', async () => {
    expect(await sender('US.1')).toBeNull();
    expect(await sender('+1555', 'US.1')).toMatchObject({ person: ADA });
    expect(await sender('US.1')).toMatchObject({ key: `telex:jwt:${NUMBER}`, person: ADA });
    expect(await sender('US.2')).toBeNull();
    expect(await sender(NUMBER)).toMatchObject({ person: ADA });
  });

  it('counts as a different sender, and gets no link, if the second id differs from the bound id', async () => {
    await sender(NUMBER, 'US.1');
    expect(await sender(NUMBER, 'US.2')).toBe('other_sender');
    expect(await sender('US.2')).toBeNull();
    expect(await sender(NUMBER, 'US.2')).toBe('other_sender');
    expect(await sender('US.1')).toMatchObject({ person: ADA });
    expect(await sender(NUMBER, 'US.1')).toMatchObject({ person: ADA });
  });

  it('reads the time in the zone of the person, unless the second id differs from the bound id', async () => {
    await link(services, NUMBERED, NUMBER, await token({ claims: { timezone: 'Europe/Berlin' } }));
    const texts = new Texts();
    const zone = async (alias_id: string) =>
      (await findSendersReading({ ...services, texts }, NUMBERED, { user_id: NUMBER, alias_id })).timezone;
    await sender(NUMBER, 'US.1');
    expect(await zone('US.1')).toBe('Europe/Berlin');
    expect(await zone('US.2')).toBeNull();
  });

  it('is not found by the number alone once the number has arrived with the id of somebody else', async () => {
    await sender(NUMBER, 'US.1');
    expect(await sender(NUMBER)).toMatchObject({ person: ADA });
    await sender(NUMBER, 'US.2');
    expect(await sender(NUMBER)).toBe('other_sender');
    expect(await sender('+1555')).toBe('other_sender');
    await link(services, NUMBERED, NUMBER, await token({ sub: 'ada', ttl: 60 }));
    expect(await sender(NUMBER)).toBe('other_sender');
    expect(await sender('US.1')).toMatchObject({ person: ADA });
    await link(services, NUMBERED, NUMBER, await token({ sub: 'bob' }));
    expect(await sender(NUMBER)).toMatchObject({ person: personKey({ sub: 'bob' }) });
  });

  it('keeps the second id when the same person renews the link, and loses it when another person links', async () => {
    await sender(NUMBER, 'US.1');
    const renewed = await token({ sub: 'ada', ttl: 60 });
    await link(services, NUMBERED, NUMBER, renewed);
    expect(await sender(NUMBER, 'US.2')).toBe('other_sender');
    expect(await sender('US.1')).toMatchObject({ token: renewed });
    await link(services, NUMBERED, NUMBER, await token({ sub: 'bob' }));
    expect(await sender('US.1')).toBeNull();
    expect(await sender(NUMBER, 'US.2')).toMatchObject({ person: personKey({ sub: 'bob' }) });
    expect(await sender(NUMBER, 'US.1')).toBe('other_sender');
  });

  it('loses the second id when the link is removed, even if it is removed by the second id', async () => {
    await sender(NUMBER, 'US.1');
    expect(await unlink(services, NUMBERED, 'US.1')).toBe(true);
    expect(await sender(NUMBER, 'US.1')).toBeNull();
    await link(services, NUMBERED, NUMBER, await token({ sub: 'ada' }));
    expect(await sender('US.1')).toBeNull();
    expect(await sender(NUMBER, 'US.2')).toMatchObject({ person: ADA });
  });

  it('has no link of the number left under the second id once that id has had a link of its own', async () => {
    await sender(NUMBER, 'US.1');
    await link(services, NUMBERED, 'US.1', await token({ sub: 'bob' }));
    expect(await sender('US.1')).toMatchObject({ person: personKey({ sub: 'bob' }) });
    expect(await unlink(services, NUMBERED, 'US.1')).toBe(true);
    expect(await sender('US.1')).toBeNull();
    expect(await sender(NUMBER, 'US.1')).toMatchObject({ person: ADA });
    expect(await sender('US.1')).toMatchObject({ person: ADA });
  });

  it('gets no second id if another process has meanwhile stored the token of a different person', async () => {
    await sender(NUMBER, 'US.1');
    const key = `telex:jwt:${NUMBER}`;
    const before = await store.links.get(key);
    const bobs = await token({ sub: 'bob' });
    // The stored link names Ada, although its token is Bob's, so the store would bind the id.
    await store.replaceToken({ kind: 'link', key, token: before?.token ?? '' }, bobs);
    expect(await sender('US.1')).toBeNull();
    expect(await unlink(services, NUMBERED, 'US.1')).toBe(false);
    expect(await listLinks(services, ADA)).toEqual([]);
    expect(await sender(NUMBER, 'US.2')).toMatchObject({ person: personKey({ sub: 'bob' }) });
  });

  it('keeps the second id when the link moves to another spelling of the number', async () => {
    await dropLink(store.links, `telex:jwt:${NUMBER}`);
    const first = { key: 'telex:jwt:+1555', token: await token({ sub: 'ada' }), person: ADA, ttl_ms: MONTH };
    await store.links.put(first);
    await sender(NUMBER, 'US.1');
    await link(services, NUMBERED, NUMBER, await token({ sub: 'ada' }));
    expect(await store.links.get(first.key)).toBeNull();
    expect(await sender('US.1')).toMatchObject({ key: `telex:jwt:${NUMBER}` });
    expect(await sender(NUMBER, 'US.2')).toBe('other_sender');
  });

  it('loses the second id when another person links another spelling of the number', async () => {
    await dropLink(store.links, `telex:jwt:${NUMBER}`);
    const first = { key: 'telex:jwt:+1555', token: await token({ sub: 'ada' }), person: ADA, ttl_ms: MONTH };
    await store.links.put(first);
    await sender(NUMBER, 'US.1');
    await link(services, NUMBERED, NUMBER, await token({ sub: 'bob' }));
    expect(await store.links.get(`telex:jwt:${NUMBER}`)).toMatchObject({ alias: null });
  });

  it('is bound to only one of two second ids that arrive simultaneously', async () => {
    const found = await Promise.all([sender(NUMBER, 'US.1'), sender(NUMBER, 'US.2')]);
    expect(found.filter((one) => one === 'other_sender')).toHaveLength(1);
  });

  it('is found under another number if the second id has moved to that number', async () => {
    await sender(NUMBER, 'US.1');
    await link(services, NUMBERED, '+1-777', await token({ sub: 'bob' }));
    expect(await sender('+1-777', 'US.1')).toMatchObject({ key: 'telex:jwt:+1-777' });
    expect(await sender('US.1')).toMatchObject({ key: 'telex:jwt:+1-777' });
    expect(await sender(NUMBER, 'US.3')).toBe('other_sender');
    expect(await sender(NUMBER, 'US.1')).toMatchObject({ person: ADA });
    expect(await sender('US.1')).toMatchObject({ key: `telex:jwt:${NUMBER}` });
  });
});

describe('a link whose token is sealed again with another key at the same time', () => {
  const OTHER = Buffer.alloc(32, 2).toString('base64');
  const old = createSeal(new Secret(KEY));
  const both = createSeal(new Secret(`${OTHER},${KEY}`));

  /** Imitates another process that seals the token with another key, once, just before the link is removed. */
  function resealing(links: LinkStore): LinkStore {
    let left = 1;
    const first = async (key: string, stored: string) => {
      if (left-- > 0)
        await store.replaceToken(
          { kind: 'link', key, token: stored },
          both.close(both.open(stored, key) ?? '', key),
        );
    };
    return {
      ...links,
      async remove(removed, also) {
        for (const [key, stored] of removed) await first(key, stored);
        return links.remove(removed, also);
      },
    };
  }
  async function linked(): Promise<TestLinks> {
    await link({ ...services, seal: old }, TELEX, 'u1', await token({ sub: 'ada' }));
    const port = resealing(store.links);
    return { ...services, seal: both, store: { ...store, links: port } };
  }

  it('can still be removed for its person', async () => {
    expect(await unlinkPerson(await linked(), TELEX, 'u1', await token({ sub: 'ada' }))).toEqual({
      outcome: 'removed',
    });
    expect(await store.links.get('telex:jwt:u1')).toBeNull();
  });

  it('can still be removed by its alias', async () => {
    const changing = await linked();
    await findSendersLink(changing, TELEX, { user_id: 'u1', alias_id: 'b1' });
    expect(await unlink(changing, TELEX, 'b1')).toBe(true);
    expect(await store.links.get('telex:jwt:u1')).toBeNull();
  });

  it('remembers that its person was notified of the expiry, unless its token has changed', async () => {
    const changing = await linked();
    const found = await findLink(changing, TELEX, 'u1');
    if (!found) throw new Error('there is no link');
    const anew = both.close(found.token, found.key);
    await store.replaceToken({ kind: 'link', key: found.key, token: found.stored }, anew);
    await noteExpiryNotified(changing, found);
    expect((await store.links.get(found.key))?.expiry_notified).toBe(true);
    await link(changing, TELEX, 'u1', await token({ sub: 'ada', ttl: 7200 }));
    await noteExpiryNotified(changing, found);
    expect((await store.links.get(found.key))?.expiry_notified).toBe(false);
  });
});
