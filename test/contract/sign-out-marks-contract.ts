import { beforeEach, describe, expect, it } from 'vitest';
import type { TokenOrigin } from '../../src/daemon/identity/identity.ts';
import { MARKS_MAX, type SignOut, type SignOutMarkStore } from '../../src/daemon/store/sign-out-marks.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { sweepAll } from './store-writes.ts';

const ISS = 'https://shop.example';
const YEAR = 365 * 24 * 3_600_000;

/** The contract of the port `signOutMarks`. */
export function describeSignOutMarks(current: () => StoreUnderTest): void {
  describe('marks of sign-out', () => {
    let test: StoreUnderTest;
    let marks: SignOutMarkStore;
    let jti: number;

    /** A sign-out of ada in every tenant and session, at second 100. */
    const signOut = (members: Partial<SignOut> = {}): SignOut => ({
      ...{ iss: ISS, jti: `jti ${jti++}`, iat: 100, sub: 'ada', tenant_id: null, sid: null },
      expires_at: test.now() + 120_000,
      ...members,
    });
    const add = (members: Partial<SignOut> = {}) => marks.add(signOut(members));
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

    it('are made once for each `jti` of an issuer', async () => {
      expect(await add({ jti: 'same' })).toBe('added');
      expect(await add({ jti: 'same', iat: 200, sub: 'bob' })).toBe('repeated');
      expect(await covers({ iat: 101 })).toBe(false);
      expect(await covers({ sub: 'bob' })).toBe(false);
      expect(await add({ jti: 'same', iss: 'https://other.example' })).toBe('added');
      test.advance(120_000);
      expect(await add({ jti: 'same', iat: 200 })).toBe('repeated');
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

    it('of one person are limited; the oldest cover more then, and none is forgotten', async () => {
      await add({ tenant_id: 'oldest', iat: 1 });
      for (let n = 2; n <= MARKS_MAX + 10; n++) await add({ sid: `s${n}`, iat: n });
      for (let n = 2; n <= MARKS_MAX + 10; n++) expect(await covers({ sid: `s${n}`, iat: n })).toBe(true);
      expect(await covers({ tenant_id: 'oldest', iat: 1, sid: 'x' })).toBe(true);
      expect(await covers({ sid: 'x', iat: 1 })).toBe(true);
      expect(await covers({ sid: 'x', iat: MARKS_MAX })).toBe(false);
    }, 30_000);

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
