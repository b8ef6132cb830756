import { beforeEach, describe, expect, it } from 'vitest';
import { type PersonKey, personKey, type TokenOrigin } from '../../src/daemon/identity/identity.ts';
import type { LogoutClaims } from '../../src/daemon/identity/logout-token.ts';
import type { RenewalClaim } from '../../src/daemon/store/links/link-renewals.ts';
import { MARKS_MAX, type SignOutMarkStore } from '../../src/daemon/store/links/sign-out-marks.ts';
import { PERSONS_MAX } from '../../src/daemon/store/links/site-sessions.ts';
import { aPendingAction, aSession, aTrace, bob } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { commitUnderClaim, saveSession, sweepAll, underClaim } from './store-writes.ts';

const ISS = 'https://shop.example';
const YEAR = 365 * 24 * 3_600_000;

/** The contract of the port `signOutMarks`. */
export function describeSignOutMarks(current: () => StoreUnderTest): void {
  describe('marks of sign-out', () => {
    let test: StoreUnderTest;
    let marks: SignOutMarkStore;
    let jti: number;

    /** A sign-out of ada in every tenant and session, at second 100. */
    const signOut = (members: Partial<LogoutClaims> = {}): LogoutClaims => ({
      ...{ iss: ISS, jti: `jti ${jti++}`, iat: 100, sub: 'ada', tenant_id: null, sid: null },
      expires_at: test.now() + 120_000,
      ...members,
    });
    const add = (members: Partial<LogoutClaims> = {}) => marks.add(signOut(members));
    /** Whether a token of ada is covered that was issued at second 100. A claim that is null is absent. */
    const covers = (members: { [name in keyof TokenOrigin]?: TokenOrigin[name] | null } = {}, by = marks) => {
      const claims = Object.entries({ iss: ISS, sub: 'ada', iat: 100, ...members });
      return by.covers(Object.fromEntries(claims.filter(([, value]) => value !== null)) as TokenOrigin);
    };

    beforeEach(() => {
      test = current();
      marks = test.store.signOutMarks;
      jti = 1;
    });

    it('cover the tokens of the issuer and person that are not newer, and those without a time', async () => {
      expect(await covers()).toBe(false);
      expect(await add()).toBe('added');
      expect(await covers()).toBe(true);
      expect(await covers({ iat: 99.5 })).toBe(true);
      expect(await covers({ iat: null })).toBe(true);
      expect(await covers({ iat: 100.5 })).toBe(false);
      expect(await covers({ sub: 'bob', iat: null })).toBe(false);
      expect(await covers({ iss: 'https://other.example' })).toBe(false);
      expect(await covers({ iss: null })).toBe(false);
      expect(await covers({ sid: 's1', tenant_id: 'acme' })).toBe(true);
    });

    it('cover one tenant if they name it; a token without a tenant has the empty one', async () => {
      await add({ tenant_id: 'acme' });
      expect(await covers({ tenant_id: 'acme' })).toBe(true);
      expect(await covers({ tenant_id: 'other' })).toBe(false);
      expect(await covers()).toBe(false);
      await add({ tenant_id: '' });
      expect(await covers()).toBe(true);
      expect(await covers({ tenant_id: 'other' })).toBe(false);
    });

    it('of a session cover its tokens, and those of the person that name no session', async () => {
      await add({ sid: 's1' });
      expect(await covers({ sid: 's1' })).toBe(true);
      expect(await covers({ sid: 's1', sub: 'the same person by another name' })).toBe(true);
      expect(await covers({ sid: 's1', iat: 101 })).toBe(false);
      expect(await covers({ sid: 's1', iss: 'https://other.example' })).toBe(false);
      expect(await covers({ sid: 's2' })).toBe(false);
      expect(await covers()).toBe(true);
      expect(await covers({ sub: 'bob' })).toBe(false);
    });

    it('of a session without a person cover exactly its tokens', async () => {
      await add({ sub: null, sid: 's1' });
      expect(await covers({ sid: 's1' })).toBe(true);
      expect(await covers({ sid: 's1', sub: 'bob', iat: null })).toBe(true);
      expect(await covers({ sid: 's2' })).toBe(false);
      expect(await covers()).toBe(false);
    });

    it('keep a token that they cover from being linked', async () => {
      const { links } = test.store;
      const link = {
        key: 'chat:jwt:u1',
        token: 't',
        person: personKey({ iss: ISS, sub: 'ada' }),
        ttl_ms: 1000,
      };
      const put = (iat: number) => links.put({ ...link, origin: { iss: ISS, sub: 'ada', iat } });
      await add();
      expect(await put(100)).toBe(false);
      expect(await links.get(link.key)).toBeNull();
      expect(await put(101)).toBe(true);
    });

    it('are made once for each `jti` of an issuer', async () => {
      expect(await add({ jti: 'same' })).toBe('added');
      expect(await add({ jti: 'same', iat: 200, sub: 'bob' })).toBe('unfinished');
      expect(await covers({ iat: 101 })).toBe(false);
      expect(await covers({ sub: 'bob' })).toBe(false);
      expect(await add({ jti: 'same', iss: 'https://other.example' })).toBe('added');
      test.advance(120_000);
      expect(await add({ jti: 'same', iat: 200 })).toBe('unfinished');
    });

    it('are made once, whichever daemon hears of it', async () => {
      const other = (await test.beside()).signOutMarks;
      const same = signOut();
      const made = await Promise.all([marks, other, marks, other].map((one) => one.add(same)));
      expect(made.filter((outcome) => outcome === 'added')).toHaveLength(1);
      expect(await covers({}, other)).toBe(true);
    });

    it('never become older, in whatever order they come', async () => {
      await add({ iat: 200 });
      await add({ iat: 100, sid: 's1' });
      await add({ iat: 100, sid: 's2' });
      await add({ iat: 90, sid: 's2', sub: null });
      expect(await covers({ iat: 200, sid: 's3' })).toBe(true);
      expect(await covers({ iat: 201, sid: 's1' })).toBe(false);
      expect(await covers({ iat: 100, sid: 's2', sub: 'bob' })).toBe(true);
    });

    it('cover the tokens that were issued between two sign-outs of the same kind', async () => {
      for (const [at, kind] of [{}, { tenant_id: 'acme' }, { sid: 's1' }].entries()) {
        const sub = `person ${at}`;
        await add({ ...kind, sub, iat: 100 });
        expect(await covers({ ...kind, sub, iat: 150 })).toBe(false);
        await add({ ...kind, sub, iat: 200 });
        expect(await covers({ ...kind, sub, iat: 150 })).toBe(true);
      }
    });

    it('of one person are limited; the oldest cover more then, and none is forgotten', async () => {
      await add({ tenant_id: 'oldest', iat: 1 });
      for (let n = 2; n <= MARKS_MAX + 10; n++) await add({ sid: `s${n}`, iat: n });
      for (let n = 2; n <= MARKS_MAX + 10; n++) expect(await covers({ sid: `s${n}`, iat: n })).toBe(true);
      expect(await covers({ tenant_id: 'oldest', iat: 1, sid: 'x' })).toBe(true);
      expect(await covers({ sid: 'x', iat: 1 })).toBe(true);
      expect(await covers({ sid: 'x', iat: MARKS_MAX })).toBe(false);
    }, 30_000);

    it('are unfinished until everything that they cover was ended', async () => {
      const first = signOut();
      expect(await marks.add(first)).toBe('added');
      expect(await marks.add(first)).toBe('unfinished');
      await marks.finish(first);
      expect(await marks.add(first)).toBe('repeated');
      await marks.finish(signOut());
    });

    it('lead to the stored tokens of a person in every tenant, which end only while they are the same', async () => {
      const { links, linkCodes, sessions, signOutEnds: ends, actions } = test.store;
      const persons = [undefined, 'acme'].map((tenant) =>
        personKey({ iss: ISS, sub: 'ada', ...(tenant === undefined ? {} : { tenant_id: tenant }) }),
      ) as [PersonKey, PersonKey];
      const of = (name: string) => persons[name === 'b' ? 1 : 0];
      for (const name of ['a', 'b', 'c']) {
        const person = name === 'c' ? bob : of(name);
        const key = `chat:jwt:${name}`;
        await links.put({ key, token: `link ${name}`, person, ttl_ms: YEAR });
        const session = aSession(test.now(), {
          session_id: name,
          user_id: name,
          owner: person,
          credential_owner: { user_id: name, person },
          metadata: {
            jwt_context: {
              ...{ has_jwt: true, user_id: 'ada', email: 'e', token: `session ${name}`, token_exp: '' },
            },
          },
        });
        await saveSession(test.store, session);
        for (const { id, user_id, principal } of [
          { id: 'mine', user_id: name, principal: person },
          { id: 'of another', user_id: 'x', principal: 'x' },
        ]) {
          const is = {
            action_id: `${id} ${name}`,
            person: id === 'mine' ? person : null,
            principal,
            user_id,
          };
          const pending = aPendingAction(session, is);
          await commitUnderClaim(test.store, name, { trace: aTrace(session), pending: [pending] });
        }
        const code = { code_id: name, code_hash: name, person, token: `code ${name}`, ttl_ms: 1000 };
        await linkCodes.create(code);
      }
      const found = (await ends.tokensOf({ iss: ISS, sub: 'ada', sid: null })) ?? [];
      const names = ['link a', 'link b', 'session a', 'session b', 'code a', 'code b'];
      expect(found.map(({ token }) => token).sort()).toEqual([...names].sort());
      expect(await ends.tokensOf({ iss: ISS, sub: 'nobody', sid: null })).toEqual([]);
      const later = (await test.beside()).signOutEnds;
      for (const token of found) {
        expect(await later.end({ ...token, token: 'replaced' })).toBe(false);
        expect(await later.end(token)).toBe(true);
        expect(await ends.end(token)).toBe(false);
      }
      expect(await ends.tokensOf({ iss: ISS, sub: 'ada', sid: null })).toEqual([]);
      const stateOf = async (id: string) => (await actions.find(id))?.state;
      for (const name of ['a', 'b']) {
        expect(await links.get(`chat:jwt:${name}`)).toBeNull();
        expect(await sessions.find(name)).toMatchObject({ owner: of(name), metadata: {} });
        expect(await linkCodes.find(name)).toMatchObject({ state: 'expired', token: null });
        expect([await stateOf(`mine ${name}`), await stateOf(`of another ${name}`)]).toEqual([
          'withdrawn',
          'pending',
        ]);
      }
      expect((await links.get('chat:jwt:c'))?.token).toBe('link c');
      expect(await stateOf('mine c')).toBe('pending');
    });

    it('of a session alone lead to the stored tokens of its person', async () => {
      const { links, linkCodes, linkRenewals, sessions, signOutEnds: ends } = test.store;
      const exp = Math.floor(test.now() / 1000) + 3600;
      const of = (sub: string, sid: string) => ({ iss: ISS, sub, email: 'e', exp, sid });
      const person = (sub: string) => personKey({ iss: ISS, sub });
      const tokensOf = async (sid: string) =>
        (await ends.tokensOf({ iss: ISS, sub: null, sid })).map(({ token }) => token).sort();
      const put = (sub: string, sid: string, key = `chat:jwt:${sub}`) =>
        links.put({ key, token: `link of ${sub}`, person: person(sub), origin: of(sub, sid), ttl_ms: YEAR });
      await put('linked', 's1');
      await put('another', 's0');
      const later = (await test.beside()).signOutEnds;
      expect(await later.tokensOf({ iss: ISS, sub: null, sid: 's0' })).toMatchObject([
        { token: 'link of another' },
      ]);
      expect(await tokensOf('s1')).toEqual(['link of linked']);
      expect(await tokensOf('unknown')).toEqual([]);
      expect(await ends.tokensOf({ iss: 'https://other.example', sub: null, sid: 's1' })).toEqual([]);
      // A renewed token may belong to another session at the site.
      const life = { issued_at: test.now() - 1000, expires_at: test.now() + 1 };
      await linkRenewals.meet('chat:jwt:linked', 'link of linked', life);
      const claim = (await linkRenewals.take('chat:jwt:linked', 60_000)) as RenewalClaim;
      const tokens = { token: 'renewed', sent: of('linked', 's1'), origin: of('linked', 's2') };
      expect(await linkRenewals.renew(claim, { ...tokens, life })).toBe(true);
      expect(await tokensOf('s2')).toEqual(['renewed']);
      // A code, with the token of its maker and then also that of whoever agreed.
      const code = { code_id: 'c', code_hash: 'c', person: person('coder'), token: 'made', ttl_ms: 1000 };
      await linkCodes.create({ ...code, origin: of('coder', 's3') });
      const sender = { platform: 'chat', user_id: 'u', alias_id: null, name: null, locale: null };
      await linkCodes.claim('c', { ...sender, reply_to: {}, message_id: null });
      await linkCodes.confirm('c', person('coder'), 'confirmed', of('coder', 's4'));
      expect(await tokensOf('s3')).toEqual(['confirmed', 'made']);
      expect(await tokensOf('s4')).toEqual(['confirmed', 'made']);
      // The context of a session.
      const session = aSession(test.now(), {
        session_id: 'a',
        credential_owner: { user_id: 'a', person: person('talker') },
        metadata: {
          jwt_context: { ...{ has_jwt: true, user_id: 'a', email: 'e', token: 'context', token_exp: '' } },
        },
      });
      // Issuers may write a time with a fraction.
      const fraction = { ...of('talker', 's5'), exp: exp + 0.123_456 };
      await underClaim(test.store, 'a', (held) => sessions.save(held, session, 'new', fraction));
      expect(await tokensOf('s5')).toEqual(['context']);
      const one = { token: 'one', ttl_ms: 30 * 24 * 3_600_000 };
      for (const sub of Array.from({ length: PERSONS_MAX }, (_, n) => `p${n}`))
        await links.put({ ...one, key: `chat:jwt:${sub}`, person: person(sub), origin: of(sub, 's5') });
      // Of too many persons, those who are not noted have only the mark.
      expect(await tokensOf('s5')).toHaveLength(PERSONS_MAX);
      // A note lasts as long as the link, or until the token of the session has expired.
      test.advance(2 * 24 * 3_600_000);
      expect(await tokensOf('s1')).toEqual(['renewed']);
      expect(await tokensOf('s5')).toHaveLength(PERSONS_MAX - 1);
      test.advance(32 * 24 * 3_600_000);
      expect([await tokensOf('s1'), await tokensOf('s5')]).toEqual([['renewed'], []]);
    }, 30_000);

    it('withdraw the pending actions of the person, but not where a token of the person is still stored', async () => {
      const { signOutEnds: ends, actions } = test.store;
      const pending = async (name: string, tenant_id: string, credential_owner: boolean) => {
        const person = personKey({ iss: ISS, sub: 'ada', tenant_id });
        const session = aSession(test.now(), {
          session_id: name,
          credential_owner: credential_owner ? { user_id: 'u1', person } : null,
        });
        await saveSession(test.store, session);
        const action = aPendingAction(session, { action_id: name, person, principal: person });
        await commitUnderClaim(test.store, name, { trace: aTrace(session), pending: [action] });
        return async () => (await actions.find(name))?.state;
      };
      const [plain, other, newer] = [
        await pending('plain', 'acme', false),
        await pending('other', 'other', false),
        await pending('newer', 'acme', true),
      ];
      await ends.withdraw({ iss: ISS, sub: null, tenant_id: null });
      expect(await plain()).toBe('pending');
      await ends.withdraw({ iss: ISS, sub: 'ada', tenant_id: 'acme' });
      expect([await plain(), await other(), await newer()]).toEqual(['withdrawn', 'pending', 'pending']);
      await ends.withdraw({ iss: ISS, sub: 'ada', tenant_id: null });
      expect(await other()).toBe('withdrawn');
    });

    it('withdraw the actions of a turn that acted with a token which they cover, at its commit', async () => {
      await add({ iss: ISS, sub: 'ada' });
      const session = aSession(test.now(), { session_id: 'asks' });
      await saveSession(test.store, session);
      const stateAfter = async (action_id: string, acted_with: TokenOrigin | null) => {
        const pending = [aPendingAction(session, { action_id, principal: action_id })];
        await commitUnderClaim(test.store, 'asks', { trace: aTrace(session), pending, acted_with });
        return (await test.store.actions.find(action_id))?.state;
      };
      expect(await stateAfter('covered', { iss: ISS, sub: 'ada' })).toBe('withdrawn');
      expect(await stateAfter('of another person', { iss: ISS, sub: 'bob' })).toBe('pending');
      expect(await stateAfter('for nobody', null)).toBe('pending');
    });

    it('survive a restart, any time, and the erasure of the person', async () => {
      await add({ iss: ISS });
      await add({ sub: null, sid: 's1' });
      test.advance(10 * YEAR);
      const again = await test.restart();
      await sweepAll(again);
      expect(await covers({}, again.signOutMarks)).toBe(true);
      expect(await covers({ sub: 'bob', sid: 's1' }, again.signOutMarks)).toBe(true);
    });
  });
}
