import { beforeEach, describe, expect, it } from 'vitest';
import type { PersonKey } from '../../src/daemon/identity/identity.ts';
import type { InboxClaim } from '../../src/daemon/store/inbox/inbox.ts';
import { type LinkStore, OF_PERSON_MAX } from '../../src/daemon/store/links/links.ts';
import { dropLink } from '../support/drop-link.ts';
import { ada, aPendingAction, aSession, aTrace, bob } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { callBoth, commitUnderClaim, saveSession, sweepExpired } from './store-writes.ts';

const KEY = 'chat:jwt:u1';
const MONTH = 2_592_000 * 1000;

/** The contract of the port `links`. */
export function describeLinks(current: () => StoreUnderTest): void {
  describe('links', () => {
    let test: StoreUnderTest;
    let links: LinkStore;

    const put = (key: string, token: string, expected: string | null, ttl_ms = MONTH, into = links) =>
      into.put({ key, token, person: ada, ttl_ms }, new Map([[key, expected]]));

    beforeEach(() => {
      test = current();
      links = test.store.links;
    });

    it('returns a link exactly as it was stored, until it expires', async () => {
      expect(await links.get('chat:jwt:u1')).toBeNull();
      expect(await put('chat:jwt:u1', 'a.b.c', null)).toBe(true);
      const link = {
        key: 'chat:jwt:u1',
        token: 'a.b.c',
        expires_at: test.now() + MONTH,
        expiry_notified: false,
        ...{ alias: null, how: 'token', name: null, made_at: test.now() },
      };
      expect(await links.get('chat:jwt:u1')).toEqual(link);
      test.advance(MONTH - 1);
      expect(await links.get('chat:jwt:u1')).toEqual(link);
      test.advance(1);
      expect(await links.get('chat:jwt:u1')).toBeNull();
      expect(await links.list({ limit: 10 })).toEqual([]);
      expect(await dropLink(links, 'chat:jwt:u1')).toBe(false);
      if (test.store.maintenance !== null) expect(await sweepExpired(test)).toBe(1);
    });

    it('stores a text for the user in the step that ends or replaces a link, and only if it does', async () => {
      const replace = (token: string, expected: string) => {
        const link = { key: KEY, token, person: ada, ttl_ms: MONTH, isTold: true };
        return links.put(link, new Map([[KEY, expected]]));
      };
      const remove = (...tokens: string[]) =>
        links.remove(new Map(tokens.map((token) => [KEY, token])), { isTold: true });
      const texts = async () =>
        (await test.store.inbox.list({ states: ['replied'], limit: 9 })).map((one) => one.link_change);
      await put(KEY, 'one', null);
      expect(await remove('another')).toBe(false);
      expect(await replace('two', 'another')).toBe(false);
      expect(await texts()).toEqual([]);
      expect(await replace('two', 'one')).toBe(true);
      expect(await remove('two')).toBe(true);
      expect(await remove()).toBe(true);
      expect(await texts()).toEqual(['ended', 'replaced']);
      const store = await test.restart();
      const [claim, ...others] = await store.inbox.claim('send', ['chat'], 9);
      const message = { platform: 'chat', user_id: 'u1', link_change: 'replaced', is_hint: true };
      expect([claim?.message, others]).toMatchObject([message, []]);
      await store.inbox.settle(claim as InboxClaim, { kind: 'sent' });
      const next = await store.inbox.claim('send', ['chat'], 9);
      expect(next).toMatchObject([{ message: { link_change: 'ended' } }]);
      // An id is written in commands, where a dash would begin an option.
      expect(next[0]?.message.id).toMatch(/^[a-z]/);
    });

    it('finds the newest links of a person, with how they were made and the name on the platform', async () => {
      expect(await links.ofPerson(ada)).toEqual([]);
      const made = { person: ada, ttl_ms: MONTH, how: 'code', name: 'Ada L.' } as const;
      await links.put({ ...made, key: 'chat:jwt:u1', token: 'one' });
      test.advance(1);
      await put('chat:jwt:u2', 'two', null, 1000);
      test.advance(1);
      await put('chat:jwt:u3', 'three', null);
      const found = async (person = ada) => (await links.ofPerson(person)).map(({ key }) => key);
      expect((await links.ofPerson(ada))[0]).toMatchObject({
        how: 'code',
        name: 'Ada L.',
        made_at: test.now() - 2,
      });
      expect(await found()).toEqual(['chat:jwt:u1', 'chat:jwt:u2', 'chat:jwt:u3']);
      test.advance(1000);
      await links.put(
        { key: 'chat:jwt:u3', token: 'of bob', person: bob, ttl_ms: MONTH },
        new Map([['chat:jwt:u3', 'three']]),
      );
      expect([await found(), await found(bob)]).toEqual([['chat:jwt:u1'], ['chat:jwt:u3']]);
      await dropLink(links, 'chat:jwt:u1');
      expect(await found()).toEqual([]);
      for (let n = 0; n <= OF_PERSON_MAX; n++) {
        test.advance(1);
        await put(`chat:jwt:n${n}`, `${n}`, null);
      }
      expect((await found()).length).toBe(OF_PERSON_MAX);
      expect((await found()).at(-1)).toBe(`chat:jwt:n${OF_PERSON_MAX}`);
    });

    it('replaces a link only if the stored token is the expected token', async () => {
      expect(await put('k', 'mine', 'something')).toBe(false);
      expect(await put('k', 'mine', null)).toBe(true);
      expect(await put('k', 'other', null)).toBe(false);
      expect(await put('k', 'other', 'not mine')).toBe(false);
      expect((await links.get('k'))?.token).toBe('mine');
      expect(await put('k', 'other', 'mine')).toBe(true);
      expect((await links.get('k'))?.token).toBe('other');
    });

    it('replaces the links of a user under all keys in one step, or none of them', async () => {
      const old = { token: 'old', person: bob, ttl_ms: MONTH };
      for (const user of ['u1', 'u2', 'u3']) await links.put({ ...old, key: `chat:jwt:${user}` });
      const alias = { alias: 'chat:X', person: ada };
      const link = { key: KEY, token: 'new', person: ada, ttl_ms: MONTH, alias };
      const standing = (third: string | null) =>
        new Map([
          [KEY, 'old'],
          ['chat:jwt:u2', 'old'],
          ['chat:jwt:none', third],
        ]);
      expect(await links.put(link, standing('something'))).toBe(false);
      expect((await links.list({ limit: 9 })).map(({ token }) => token)).toEqual(['old', 'old', 'old']);
      expect(await links.put(link, standing(null))).toBe(true);
      expect((await links.list({ limit: 9 })).map(({ key, token }) => [key, token])).toEqual([
        [KEY, 'new'],
        ['chat:jwt:u3', 'old'],
      ]);
      expect(await links.findByAlias('chat:X')).toMatchObject({ key: KEY, alias });
    });

    it('removes several links in one step, or none of them', async () => {
      for (const user of ['u1', 'u2', 'u3']) await put(`chat:jwt:${user}`, `token ${user}`, null);
      const remove = (second: string) =>
        links.remove(
          new Map([
            [KEY, 'token u1'],
            ['chat:jwt:u2', second],
          ]),
        );
      expect(await remove('another')).toBe(false);
      expect(await links.list({ limit: 9 })).toHaveLength(3);
      expect(await remove('token u2')).toBe(true);
      expect((await links.list({ limit: 9 })).map(({ key }) => key)).toEqual(['chat:jwt:u3']);
    });

    it('withdraws what waits for a user who is signed out, even without a link, or who was linked to another person', async () => {
      const session = aSession(test.now(), { platform: 'chat', user_id: 'u1' });
      await saveSession(test.store, session);
      const ask = async (person: PersonKey) => {
        const pending = aPendingAction(session, { person, principal: person });
        await commitUnderClaim(test.store, session.session_id, {
          trace: aTrace(session),
          pending: [pending],
        });
        return async () => (await test.store.actions.find(pending.action_id))?.state;
      };
      const ofAda = await ask(ada);
      await put(KEY, 'of ada', null);
      expect(await ofAda()).toBe('pending');
      await links.put(
        { key: 'chat:jwt:+1', token: 'of bob', person: bob, ttl_ms: MONTH },
        new Map([[KEY, 'of ada']]),
      );
      expect(await ofAda()).toBe('withdrawn');
      const [another, ofBob] = [await ask(ada), await ask(bob)];
      await links.remove(new Map([['chat:jwt:+1', 'of bob']]));
      expect([await another(), await ofBob()]).toEqual(['pending', 'pending']);
      await links.remove(new Map(), { signedOut: [KEY] });
      expect([await another(), await ofBob()]).toEqual(['withdrawn', 'withdrawn']);
    });

    it('lets only one of many callers store a link if all of them expect that there is none', async () => {
      const won = await callBoth(test, 20, (store, n) => put('k', `token ${n}`, null, MONTH, store.links));
      expect(won.filter(Boolean)).toHaveLength(1);
      expect((await links.get('k'))?.token).toBe(`token ${won.indexOf(true)}`);
    });

    it('treats an expired link as absent when a new link is stored', async () => {
      await put('k', 'old', null, 1000);
      test.advance(1000);
      expect(await put('k', 'new', 'old')).toBe(false);
      expect(await put('k', 'new', null)).toBe(true);
    });

    it('removes a link, but not if the stored token differs from an expected token', async () => {
      await put('k', 'mine', null);
      expect(await links.remove(new Map([['k', 'another']]))).toBe(false);
      expect(await links.get('k')).not.toBeNull();
      expect(await links.remove(new Map([['k', 'mine']]))).toBe(true);
      expect(await links.get('k')).toBeNull();
      expect(await dropLink(links, 'k')).toBe(false);
    });

    it('lists the links of one platform, or of all, in the order of their keys', async () => {
      for (const key of ['chat:jwt:b', 'chat:jwt:a', 'chat-2:jwt:c', 'phone:jwt:+15550100', 'chat:jwt:ü'])
        await put(key, `token of ${key}`, null);
      const keys = async (filter: { platform?: string; limit: number }) =>
        (await links.list(filter)).map(({ key }) => key);
      expect(await keys({ platform: 'chat', limit: 10 })).toEqual(['chat:jwt:a', 'chat:jwt:b', 'chat:jwt:ü']);
      expect(await keys({ platform: 'chat', limit: 2 })).toEqual(['chat:jwt:a', 'chat:jwt:b']);
      expect(await keys({ platform: 'nothing', limit: 10 })).toEqual([]);
      expect(await keys({ limit: 10 })).toHaveLength(5);
    });

    it('remembers that the person was notified of the expiry, until the person links again', async () => {
      await put('k', 'old', null);
      await links.noteExpiryNotified('k', 'another');
      expect((await links.get('k'))?.expiry_notified).toBe(false);
      await links.noteExpiryNotified('k', 'old');
      expect((await links.get('k'))?.expiry_notified).toBe(true);
      await put('k', 'new', 'old');
      expect((await links.get('k'))?.expiry_notified).toBe(false);
    });

    describe('a second id of the user', () => {
      const alias = { alias: 'chat:X', person: ada };

      it('finds the link to which it is bound, and is deleted with that link', async () => {
        await put('k', 'token', null);
        expect(await links.findByAlias('chat:X')).toBeNull();
        expect(await links.bindAlias('k', 'token', alias)).toBe(true);
        expect(await links.findByAlias('chat:X')).toMatchObject({ key: 'k', token: 'token', alias });
        expect(await links.get('k')).toMatchObject({ key: 'k', alias });
        expect(await links.findByAlias('chat:Y')).toBeNull();
        await dropLink(links, 'k');
        expect(await links.findByAlias('chat:X')).toBeNull();
        await put('k', 'token', null);
        expect(await links.get('k')).toMatchObject({ alias: null });
        expect(await links.findByAlias('chat:X')).toBeNull();
      });

      it('expires with the link, and is extended when the link is renewed', async () => {
        await put('k', 'token', null, 1000);
        await links.bindAlias('k', 'token', alias);
        await put('k', 'renewed', 'token', 2000);
        test.advance(1999);
        expect(await links.findByAlias('chat:X')).toMatchObject({ token: 'renewed', alias });
        test.advance(1);
        expect(await links.findByAlias('chat:X')).toBeNull();
        expect(await links.bindAlias('k', 'renewed', alias)).toBe(false);
        await put('k', 'new', null);
        expect(await links.get('k')).toMatchObject({ alias: null });
        expect(await links.findByAlias('chat:X')).toBeNull();
      });

      it('stays when the same person renews the link, and is removed when another person links', async () => {
        await put('k', 'token', null);
        await links.bindAlias('k', 'token', alias);
        await put('k', 'renewed', 'token');
        expect(await links.findByAlias('chat:X')).toMatchObject({ token: 'renewed', alias });
        await links.put(
          { key: 'k', token: "bob's", person: bob, ttl_ms: MONTH },
          new Map([['k', 'renewed']]),
        );
        expect(await links.get('k')).toMatchObject({ token: "bob's", alias: null });
        expect(await links.findByAlias('chat:X')).toBeNull();
        await put('k', "ada's again", "bob's");
        expect(await links.get('k')).toMatchObject({ alias: null });
      });

      it('stays with the link that was bound to it last, when an earlier one is renewed or ends', async () => {
        await put('k', 'token', null);
        await links.bindAlias('k', 'token', alias);
        await links.put({ key: 'k2', token: 'of bob', person: bob, ttl_ms: MONTH });
        await links.bindAlias('k2', 'of bob', { ...alias, person: bob });
        await put('k', 'renewed', 'token');
        expect(await links.findByAlias('chat:X')).toMatchObject({ key: 'k2', token: 'of bob' });
        await dropLink(links, 'k');
        expect(await links.findByAlias('chat:X')).toMatchObject({ key: 'k2', token: 'of bob' });
      });

      it('leads to no older link of somebody else after the link of the user with this id has ended', async () => {
        await links.put({ key: 'k', token: 'of bob', person: bob, ttl_ms: MONTH });
        await links.bindAlias('k', 'of bob', { ...alias, person: bob });
        await put('chat:jwt:X', 'of ada', null);
        await dropLink(links, 'chat:jwt:X');
        expect(await links.find(['chat:jwt:X'], 'chat:X')).toBeNull();
      });

      it('finds the link together with the keys of its user, of which the first that has a link decides', async () => {
        const find = async (...keys: string[]) => (await links.find(keys, 'chat:X'))?.key ?? null;
        expect(await find('k1', 'k2')).toBeNull();
        await put('k3', 'three', null);
        await links.bindAlias('k3', 'three', alias);
        expect(await find('k1', 'k2')).toBe('k3');
        await put('k2', 'two', null);
        expect(await find('k1', 'k2')).toBe('k2');
        await put('k1', 'one', null);
        expect(await find('k1', 'k2')).toBe('k1');
        expect(await find()).toBe('k3');
        await dropLink(links, 'k3');
        expect(await find()).toBeNull();
      });

      it('is the only way to the link once the user id is noted as reassigned, until it is bound anew', async () => {
        await put('k', 'token', null);
        await links.noteReassigned('k', 'token');
        expect(await links.get('k')).toMatchObject({ alias: null });
        await links.bindAlias('k', 'token', alias);
        await links.noteReassigned('k', 'another');
        expect((await links.get('k'))?.alias).toEqual(alias);
        await links.noteReassigned('k', 'token');
        expect((await links.findByAlias('chat:X'))?.alias).toEqual({ ...alias, reassigned: true });
        await links.bindAlias('k', 'token', alias);
        expect((await links.get('k'))?.alias).toEqual(alias);
      });

      it('is bound only if the link has not changed since it was read, and has no other alias of the same person', async () => {
        await put('k', 'token', null);
        expect(await links.bindAlias('k', 'another', alias)).toBe(false);
        expect(await links.bindAlias('none', 'token', alias)).toBe(false);
        expect(await links.bindAlias('k', 'token', alias)).toBe(true);
        expect(await links.bindAlias('k', 'token', alias)).toBe(true);
        expect(await links.bindAlias('k', 'token', { ...alias, alias: 'chat:Y' })).toBe(false);
        expect(await links.get('k')).toMatchObject({ alias });
        const bobs = { alias: 'chat:Y', person: bob };
        expect(await links.bindAlias('k', 'token', bobs)).toBe(true);
        expect(await links.get('k')).toMatchObject({ alias: bobs });
        expect(await links.findByAlias('chat:X')).toBeNull();
      });

      it('is bound only once, even if many ids are bound at the same time', async () => {
        await put('k', 'token', null);
        const bound = await callBoth(test, 10, (store, n) =>
          store.links.bindAlias('k', 'token', { ...alias, alias: `chat:${n}` }),
        );
        expect(bound.filter(Boolean)).toHaveLength(1);
        const key = `chat:${bound.indexOf(true)}`;
        expect(await links.get('k')).toMatchObject({ alias: { alias: key } });
        expect(await links.findByAlias(key)).toMatchObject({ key: 'k' });
      });

      it('finds only the link to which it was bound last, never an earlier link', async () => {
        await put('k1', 'one', null);
        await put('k2', 'two', null);
        await links.bindAlias('k1', 'one', alias);
        await links.bindAlias('k2', 'two', alias);
        expect(await links.findByAlias('chat:X')).toMatchObject({ key: 'k2' });
        expect(await links.get('k1')).toMatchObject({ alias });
        await dropLink(links, 'k2');
        expect(await links.findByAlias('chat:X')).toBeNull();
        expect(await links.bindAlias('k1', 'one', alias)).toBe(true);
        expect(await links.findByAlias('chat:X')).toMatchObject({ key: 'k1' });
      });
    });

    it('shows a change by an administrator at once', async () => {
      const beside = await test.beside();
      await put('k', 'token', null, MONTH, beside.links);
      expect((await links.get('k'))?.token).toBe('token');
      await dropLink(links, 'k');
      expect(await beside.links.get('k')).toBeNull();
    });
  });
}
