import { beforeEach, describe, expect, it } from 'vitest';
import { type PersonKey, personKey } from '../../src/daemon/identity/identity.ts';
import {
  ASK_AGAIN_MS,
  type Claimant,
  CODES_MAX,
  type CodeBinding,
  type LinkCodeStore,
  type NewLinkCode,
  WRONG_MAX,
} from '../../src/daemon/store/links/link-codes.ts';
import type { StoredToken } from '../../src/daemon/store/persons/stored-tokens.ts';
import { dropLink } from '../support/drop-link.ts';
import { ada, aPendingAction, aSession, aTrace, bob } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { commitUnderClaim, saveSession, sweepExpired } from './store-writes.ts';

const TTL = 600_000;
const TEN_MINUTES = 600_000;
const HOUR = 3_600_000;
const KEY = 'chat:jwt:u1';

/** The contract of the port `linkCodes`. */
export function describeLinkCodes(current: () => StoreUnderTest): void {
  describe('link codes', () => {
    let test: StoreUnderTest;
    let codes: LinkCodeStore;

    const create = (name: string, members: Partial<NewLinkCode> = {}, into = codes) =>
      into.create({
        ...{ code_id: `id ${name}`, code_hash: name, person: ada, token: `token ${name}`, ttl_ms: TTL },
        ...members,
      });
    const sender = (user_id = 'u1', members: Partial<Claimant> = {}): Claimant => ({
      ...{
        platform: 'chat',
        user_id,
        alias_id: null,
        name: 'Ada L.',
        locale: 'de',
        reply_to: { to: user_id },
        message_id: null,
      },
      ...members,
    });
    const stateOf = async (name: string) => (await codes.find(`id ${name}`))?.state;
    const binding = (name: string, members: Partial<CodeBinding> = {}): CodeBinding => ({
      code_id: `id ${name}`,
      seen: { token: `token ${name}`, confirmed_token: 'newer' },
      link: { key: KEY, token: 'newer', person: ada, ttl_ms: HOUR },
      life: { issued_at: null, expires_at: test.now() + HOUR },
      standing: new Map([[KEY, null]]),
      ...members,
    });
    /** A code that is claimed by `u1`, and to which both ends have agreed. */
    async function agreed(name: string, members: Partial<NewLinkCode> = {}): Promise<void> {
      await create(name, members);
      await codes.claim(name, sender());
      await codes.answer(`id ${name}`, sender(), true);
      await codes.confirm(`id ${name}`, members.person ?? ada, 'newer');
    }

    beforeEach(() => {
      test = current();
      codes = test.store.linkCodes;
    });

    it('are found by their id, wait for their sender, expire, and are then kept for an hour', async () => {
      const expires_at = test.now() + TTL;
      expect(await codes.find('id a')).toBeNull();
      expect(await create('a')).toEqual({ outcome: 'created', expires_at });
      const code = {
        ...{ code_id: 'id a', person: ada, state: 'waiting', token: 'token a', confirmed_token: null },
        ...{
          claimant: null,
          sender_agreed: false,
          answered_by: null,
          asked_at: null,
          created_at: test.now(),
          expires_at,
        },
      };
      expect(await codes.find('id a')).toEqual(code);
      test.advance(TTL - 1);
      expect(await codes.find('id a')).toEqual(code);
      test.advance(1);
      expect(await codes.find('id a')).toEqual({ ...code, state: 'expired', token: null });
      expect(await codes.claim('a', sender())).toEqual({ outcome: 'gone' });
      test.advance(HOUR);
      expect(await codes.find('id a')).toBeNull();
      expect(await codes.claim('a', sender())).toEqual({ outcome: 'unknown' });
    });

    it('end when the person makes another one, even if they were claimed; those of others do not', async () => {
      await create('of bob', { person: bob });
      await create('a');
      await create('b');
      expect([await stateOf('a'), await stateOf('b'), await stateOf('of bob')]).toEqual([
        'expired',
        'waiting',
        'waiting',
      ]);
      await agreed('c');
      await create('d');
      expect(await codes.find('id c')).toMatchObject({
        state: 'expired',
        token: null,
        confirmed_token: null,
      });
      expect(await codes.bind(binding('c'))).toBe('gone');
    });

    it('are limited for each person within ten minutes; a refused one ends nothing and does not count', async () => {
      for (let n = 0; n < CODES_MAX; n++) {
        expect((await create(`${n}`)).outcome).toBe('created');
        test.advance(1000);
      }
      const retry_after_ms = TEN_MINUTES - CODES_MAX * 1000;
      expect(await create('more')).toEqual({ outcome: 'too_many', retry_after_ms });
      expect(await stateOf(`${CODES_MAX - 1}`)).toBe('waiting');
      expect(await stateOf('more')).toBeUndefined();
      expect((await create('of bob', { person: bob })).outcome).toBe('created');
      test.advance(retry_after_ms);
      expect((await create('more')).outcome).toBe('created');
      expect((await create('too many')).outcome).toBe('too_many');
    });

    it('are limited exactly, whichever daemon makes them', async () => {
      const other = (await test.beside()).linkCodes;
      const made = await Promise.all(
        Array.from({ length: 12 }, (_, n) => create(`${n}`, {}, n % 2 === 0 ? codes : other)),
      );
      expect(made.filter(({ outcome }) => outcome === 'created')).toHaveLength(CODES_MAX);
      const states = await Promise.all(made.map((_, n) => stateOf(`${n}`)));
      expect(states.filter((state) => state === 'waiting')).toHaveLength(1);
    });

    it('are claimed by only one of many senders, whichever daemon hears them', async () => {
      await create('a');
      const other = (await test.beside()).linkCodes;
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? codes : other).claim('a', sender(`u${n}`))),
      );
      const winners = claims.flatMap(({ outcome }, n) => (outcome === 'claimed' ? [`u${n}`] : []));
      expect(winners).toHaveLength(1);
      expect((await codes.find('id a'))?.claimant?.user_id).toBe(winners[0]);
      expect(claims.filter(({ outcome }) => outcome === 'gone')).toHaveLength(19);
    });

    it('stay claimed by their sender, who may send them again', async () => {
      await create('a');
      const code = { code_id: 'id a', state: 'claimed', claimant: sender(), sender_agreed: false };
      expect(await codes.claim('a', sender())).toMatchObject({ outcome: 'claimed', isNew: true, code });
      expect(await codes.claim('a', sender())).toMatchObject({ outcome: 'claimed', isNew: false, code });
      expect(await codes.claim('a', sender('u1', { platform: 'phone' }))).toEqual({ outcome: 'gone' });
      expect(await codes.find('id a')).toMatchObject(code);
    });

    it('ask a sender who sends them in one message after another at most every ten seconds', async () => {
      await create('a');
      const asks = async (message_id: string) => {
        const claimed = await codes.claim('a', sender('u1', { message_id }));
        return claimed.outcome === 'claimed' && claimed.asks;
      };
      expect(await asks('m1')).toBe(true);
      expect([await asks('m2'), await asks('m1')]).toEqual([false, true]);
      test.advance(ASK_AGAIN_MS - 1);
      expect(await asks('m3')).toBe(false);
      test.advance(1);
      expect([await asks('m4'), await asks('m5')]).toEqual([true, false]);
      expect((await codes.find('id a'))?.asked_at).toBe(test.now());
      test.advance(-HOUR);
      expect(await asks('m6')).toBe(true);
    });

    it('end when their sender claims another one, and stay claimed for a repeat of the message', async () => {
      const from = (message_id: string) => sender('u1', { message_id });
      await create('a');
      await create('b', { person: bob });
      expect(await codes.claimedBy(sender())).toBeNull();
      await codes.claim('a', from('m1'));
      expect(await codes.claimedBy(sender())).toMatchObject({ code_id: 'id a', state: 'claimed' });
      expect(await codes.claim('b', from('m2'))).toMatchObject({ outcome: 'claimed', isNew: true });
      expect([await stateOf('a'), await stateOf('b')]).toEqual(['expired', 'claimed']);
      expect(await codes.claimedBy(sender())).toMatchObject({ code_id: 'id b' });
      expect(await codes.claimedBy(sender('u2'))).toBeNull();
      const repeat = { outcome: 'claimed', isNew: false, code: { code_id: 'id a', state: 'expired' } };
      expect(await codes.claim('a', from('m1'))).toMatchObject(repeat);
      expect(await codes.claim('a', from('m3'))).toEqual({ outcome: 'gone' });
      expect(await codes.claimedBy(sender())).toMatchObject({ code_id: 'id b', state: 'claimed' });
    });

    it('know their hashes until an hour after they end', async () => {
      await create('a');
      await codes.end('id a', ada);
      expect(await codes.known(['a', 'b'])).toEqual(new Set(['a']));
      test.advance(TTL + HOUR);
      expect(await codes.known(['a', 'b'])).toEqual(new Set());
    });

    it('name the message that answered them', async () => {
      await create('a');
      await codes.claim('a', sender());
      expect(await codes.answer('id a', sender(), false, 'm1')).toMatchObject({ answered_by: 'm1' });
      expect(await codes.find('id a')).toMatchObject({ state: 'declined', answered_by: 'm1' });
    });

    it('ask their sender again until the sender has agreed', async () => {
      await create('a');
      expect(await codes.askAgain('id a', sender(), 'm1')).toBeNull();
      await codes.claim('a', sender());
      test.advance(1000);
      const asked = { answered_by: 'm1', asked_at: test.now(), sender_agreed: false };
      expect(await codes.askAgain('id a', sender('u2'), 'm1')).toBeNull();
      expect(await codes.askAgain('id a', sender(), 'm1')).toMatchObject(asked);
      await codes.answer('id a', sender(), true);
      expect(await codes.askAgain('id a', sender(), 'm2')).toBeNull();
    });

    /** Stores a pending action. @returns its state */
    async function pending(user_id: string, person: PersonKey | null = null) {
      const session = aSession(test.now(), { platform: 'chat', user_id });
      await saveSession(test.store, session);
      const action = aPendingAction(session, { platform: 'chat', user_id, person });
      await commitUnderClaim(test.store, session.session_id, { trace: aTrace(session), pending: [action] });
      return async () => (await test.store.actions.find(action.action_id))?.state;
    }

    it('withdraw the pending actions of the sender who claims one, and nobody else’s', async () => {
      const [mine, theirs] = [await pending('u1'), await pending('u2')];
      await create('a');
      await codes.claim('wrong', sender());
      expect([await mine(), await theirs()]).toEqual(['pending', 'pending']);
      await codes.claim('a', sender());
      expect([await mine(), await theirs()]).toEqual(['withdrawn', 'pending']);
    });

    it('withdraw the pending actions of the sender for other people when they bind', async () => {
      await agreed('a');
      const waiting = [await pending('u1'), await pending('u1', bob), await pending('u1', ada)];
      waiting.push(await pending('u2', bob));
      const states = () => Promise.all(waiting.map((state) => state()));
      expect(await codes.bind(binding('a', { standing: new Map([[KEY, 'old']]) }))).toBe('changed');
      expect(await states()).toEqual(['pending', 'pending', 'pending', 'pending']);
      expect(await codes.bind(binding('a'))).toBe('bound');
      expect(await states()).toEqual(['withdrawn', 'withdrawn', 'pending', 'pending']);
    });

    it('cannot be claimed for an hour by a sender of five wrong ones within ten minutes', async () => {
      await create('a', { ttl_ms: 2 * HOUR });
      const wrong = async (times: number) => {
        for (let n = 0; n < times; n++)
          expect(await codes.claim(`wrong ${n}`, sender())).toEqual({ outcome: 'unknown' });
      };
      await wrong(2);
      test.advance(TEN_MINUTES - 1);
      await wrong(2);
      test.advance(1);
      await wrong(2);
      expect(await stateOf('a')).toBe('waiting');
      await wrong(1);
      expect(await codes.claim('a', sender())).toEqual({ outcome: 'blocked' });
      expect(await stateOf('a')).toBe('waiting');
      test.advance(HOUR - 1);
      expect(await codes.claim('a', sender())).toEqual({ outcome: 'blocked' });
      test.advance(1);
      expect((await codes.claim('a', sender())).outcome).toBe('claimed');
    });

    it('that a sender has claimed end with the fifth wrong one of this sender', async () => {
      await create('mine');
      await codes.claim('mine', sender());
      await create('theirs', { person: bob });
      await codes.claim('theirs', sender('u2'));
      for (let n = 1; n <= WRONG_MAX; n++) {
        expect([await stateOf('mine'), await stateOf('theirs')]).toEqual(['claimed', 'claimed']);
        await codes.claim('wrong', sender());
      }
      expect([await stateOf('mine'), await stateOf('theirs')]).toEqual(['expired', 'claimed']);
      expect(await codes.answer('id mine', sender(), true)).toBeNull();
    });

    it('are not claimed by another sender whose message has the same id, as in another chat', async () => {
      await create('a');
      const from = (user_id: string) => sender(user_id, { message_id: '7' });
      expect(await codes.claim('a', from('u1'))).toMatchObject({ outcome: 'claimed', isNew: true });
      expect(await codes.claim('a', from('u2'))).toEqual({ outcome: 'gone' });
    });

    it('count a wrong one once, however often its message is repeated', async () => {
      await create('a');
      const repeated = sender('u1', { message_id: 'm1' });
      for (let n = 0; n < WRONG_MAX; n++)
        expect(await codes.claim('wrong', repeated)).toEqual({ outcome: 'unknown' });
      for (let n = 2; n < WRONG_MAX; n++)
        expect((await codes.claim('wrong', sender('u1', { message_id: `m${n}` }))).outcome).toBe('unknown');
      expect((await codes.claim('a', sender())).outcome).toBe('claimed');
    });

    it('count as wrong for a sender to whom they are not open, and for no other sender', async () => {
      await create('a');
      await codes.claim('a', sender('u2'));
      for (let n = 0; n < WRONG_MAX; n++)
        expect(await codes.claim('a', sender())).toEqual({ outcome: 'gone' });
      expect(await codes.claim('a', sender())).toEqual({ outcome: 'blocked' });
      expect((await codes.claim('a', sender('u2'))).outcome).toBe('claimed');
    });

    it('end when others have seen them, and when their person ends them', async () => {
      await create('a');
      expect(await codes.endSeen('wrong')).toBe(false);
      expect(await codes.endSeen('a')).toBe(true);
      expect(await codes.endSeen('a')).toBe(false);
      expect(await codes.claim('a', sender())).toEqual({ outcome: 'gone' });
      await create('claimed');
      await codes.claim('claimed', sender('u2'));
      expect(await codes.endSeen('claimed')).toBe(true);
      expect(await stateOf('claimed')).toBe('expired');
      await agreed('b');
      expect(await codes.end('id b', bob)).toBe(false);
      expect(await stateOf('b')).toBe('claimed');
      expect(await codes.end('id b', ada)).toBe(true);
      expect(await codes.end('id b', ada)).toBe(false);
      expect(await codes.bind(binding('b'))).toBe('gone');
    });

    it('are answered only by the sender who has claimed them, and confirmed only by their person', async () => {
      await create('a');
      expect(await codes.answer('id a', sender(), true)).toBeNull();
      expect(await codes.confirm('id a', ada, 'newer')).toEqual({ outcome: 'not_claimed' });
      await codes.claim('a', sender());
      expect(await codes.answer('id a', sender('u2'), true)).toBeNull();
      expect(await codes.answer('id a', sender('u1', { platform: 'phone' }), true)).toBeNull();
      expect(await codes.confirm('id a', bob, 'newer')).toEqual({ outcome: 'unknown' });
      expect(await codes.find('id a')).toMatchObject({ sender_agreed: false, confirmed_token: null });
      expect(await codes.answer('id a', sender(), true)).toMatchObject({ sender_agreed: true });
      expect(await codes.confirm('id a', ada, 'newer')).toMatchObject({
        outcome: 'confirmed',
        code: { confirmed_token: 'newer' },
      });
    });

    it('are declined by a no of the sender, whatever the person has confirmed', async () => {
      await create('a');
      await codes.claim('a', sender());
      await codes.confirm('id a', ada, 'newer');
      expect(await codes.answer('id a', sender(), false)).toMatchObject({ state: 'declined', token: null });
      expect(await codes.answer('id a', sender(), true)).toBeNull();
      expect(await codes.confirm('id a', ada, 'newer')).toEqual({ outcome: 'gone', state: 'declined' });
      expect(await codes.bind(binding('a'))).toBe('gone');
    });

    it('bind after both ends have agreed, in either order, and only once', async () => {
      for (const name of ['yes first', 'site first']) {
        await create(name);
        expect(await codes.bind(binding(name))).toBe('gone');
        await codes.claim(name, sender());
        expect(await codes.bind(binding(name))).toBe('gone');
        const agree = [
          () => codes.answer(`id ${name}`, sender(), true),
          () => codes.confirm(`id ${name}`, ada, 'newer'),
        ];
        const [first, second] = name === 'yes first' ? agree : agree.reverse();
        await first?.();
        expect(await codes.bind(binding(name))).toBe('gone');
        expect(await test.store.links.get(KEY)).toBeNull();
        await second?.();
        expect(await codes.bind(binding(name))).toBe('bound');
        expect(await codes.find(`id ${name}`)).toMatchObject({
          state: 'used',
          token: null,
          confirmed_token: null,
        });
        const link = { key: KEY, token: 'newer', expires_at: test.now() + HOUR };
        expect(await test.store.links.get(KEY)).toMatchObject(link);
        await dropLink(test.store.links, KEY);
        expect(await codes.bind(binding(name))).toBe('gone');
        expect(await test.store.links.get(KEY)).toBeNull();
      }
    });

    it('count as the first use of the link that they make, so that its token is renewed in the background', async () => {
      await agreed('a');
      expect(await codes.bind(binding('a'))).toBe('bound');
      const { linkRenewals } = test.store;
      test.advance(0.8 * HOUR - 1);
      expect(await linkRenewals.due(HOUR, 9)).toEqual([]);
      test.advance(1);
      expect(await linkRenewals.due(HOUR, 9)).toEqual([KEY]);
      expect(await linkRenewals.take(KEY, HOUR)).toMatchObject({ token: 'newer' });
    });

    it('bind for no other person than the one who made the code, and not after they have expired', async () => {
      await agreed('a');
      const link = { key: KEY, token: 'newer', person: bob, ttl_ms: HOUR };
      expect(await codes.bind(binding('a', { link }))).toBe('gone');
      test.advance(TTL);
      expect(await codes.bind(binding('a'))).toBe('gone');
      expect(await test.store.links.get(KEY)).toBeNull();
    });

    it('bind nothing if a token or a link has changed since it was examined', async () => {
      await agreed('a');
      for (const seen of [
        { token: 'another', confirmed_token: 'newer' },
        { token: 'token a', confirmed_token: 'another' },
      ])
        expect(await codes.bind(binding('a', { seen }))).toBe('changed');
      const other = 'chat:jwt:other spelling';
      const standing = new Map([
        [KEY, null],
        [other, null],
      ]);
      for (const key of [KEY, other]) {
        await test.store.links.put({ key, token: 'of bob', person: bob, ttl_ms: HOUR });
        expect(await codes.bind(binding('a', { standing }))).toBe('changed');
        expect((await test.store.links.get(key))?.token).toBe('of bob');
        if (key === KEY) expect(await codes.bind(binding('a', { standing: new Map() }))).toBe('changed');
        await dropLink(test.store.links, key);
      }
      expect(await stateOf('a')).toBe('claimed');
      expect(await codes.bind(binding('a', { standing }))).toBe('bound');
    });

    it('bind nothing for a token that a sign-out covers, however late the sign-out is stored', async () => {
      await agreed('a');
      const origin = { sub: 'ada', iat: 100 };
      const link = { ...binding('a').link, origin };
      const signOut = { iss: '', jti: 'j', iat: 100, sub: 'ada', tenant_id: null, sid: null };
      await test.store.signOutMarks.add({ ...signOut, expires_at: test.now() + HOUR });
      expect(await codes.bind(binding('a', { link }))).toBe('changed');
      expect(await test.store.links.get(KEY)).toBeNull();
      expect(await codes.bind(binding('a', { link: { ...link, origin: { ...origin, iat: 101 } } }))).toBe(
        'bound',
      );
    });

    it('replace the links under all spellings of the sender, and lead to the link by the other id', async () => {
      const old = { token: 'old', person: bob, ttl_ms: HOUR };
      await test.store.links.put({ ...old, key: KEY });
      await test.store.links.put({ ...old, key: 'chat:jwt:v1' });
      await agreed('a');
      const standing = new Map([
        [KEY, 'old'],
        ['chat:jwt:v1', 'old'],
      ]);
      const alias = { alias: 'chat:bsuid', person: ada };
      const { link } = binding('a');
      expect(await codes.bind(binding('a', { standing, link: { ...link, alias } }))).toBe('bound');
      expect((await test.store.links.list({ limit: 10 })).map(({ key, token }) => [key, token])).toEqual([
        [KEY, 'newer'],
      ]);
      expect(await test.store.links.findByAlias('chat:bsuid')).toMatchObject({ key: KEY, alias });
    });

    it('and both agreements survive a restart', async () => {
      await agreed('a');
      const again = await test.restart();
      expect(await again.linkCodes.find('id a')).toMatchObject({ state: 'claimed', sender_agreed: true });
      expect(await again.linkCodes.bind(binding('a'))).toBe('bound');
    });

    it('list their tokens until they end, so that another key can seal them', async () => {
      await agreed('a');
      const listed = async () => {
        const found: StoredToken[] = [];
        for await (const some of test.store.storedTokens('sealed')) found.push(...some);
        return found;
      };
      const token = { kind: 'code', code_id: 'id a', field: 'token', token: 'token a' } as const;
      const confirmed = { ...token, field: 'confirmed_token', token: 'newer' } as const;
      expect(await listed()).toEqual([token, confirmed]);
      expect(await test.store.replaceToken(token, 'sealed a')).toBe(true);
      expect(await test.store.replaceToken(token, 'late')).toBe(false);
      expect(await listed()).toEqual([confirmed]);
      expect(await codes.find('id a')).toMatchObject({ token: 'sealed a', confirmed_token: 'newer' });
      await codes.end('id a', ada);
      expect(await test.store.countSeals()).toEqual(new Map());
    });

    it('and their limits leave nothing behind', async () => {
      await create('a');
      await codes.claim('wrong', sender());
      test.advance(TEN_MINUTES + HOUR);
      expect(await codes.find('id a')).toBeNull();
      if (test.store.maintenance !== null) expect(await sweepExpired(test)).toBe(4);
    });

    it('of a person and of a sender are erased with them', async () => {
      const { persons } = test.store;
      if (persons === null) return;
      await create('of ada');
      await create('of bob', { person: bob });
      await codes.claim('of bob', sender('u7'));
      await persons.erase({ person: ada, link_keys: [] });
      expect(await codes.find('id of ada')).toBeNull();
      expect(await codes.claim('of ada', sender('u8'))).toEqual({ outcome: 'unknown' });
      expect(await stateOf('of bob')).toBe('claimed');
      const eve = personKey({ sub: 'eve' });
      await create('of eve', { person: eve });
      await persons.erase({ platform: 'chat', user_id: 'u7' });
      expect(await codes.find('id of bob')).toBeNull();
      expect(await stateOf('of eve')).toBe('waiting');
    });
  });
}
