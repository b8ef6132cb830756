import { beforeEach, describe, expect, it } from 'vitest';
import type {
  LinkRenewalStore,
  RenewalClaim,
  RenewedToken,
} from '../../src/daemon/store/links/link-renewals.ts';
import { USED_WITHIN_MS } from '../../src/daemon/store/links/link-renewals.ts';
import { dropLink } from '../support/drop-link.ts';
import { ada, aPendingAction, aSession, aTrace } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { commitUnderClaim, saveSession, sweepAll } from './store-writes.ts';

const KEY = 'chat:jwt:u1';
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const LEASE = 60_000;

/** The contract of the port `linkRenewals`. */
export function describeLinkRenewals(current: () => StoreUnderTest): void {
  describe('renewals of links', () => {
    let test: StoreUnderTest;
    let renewals: LinkRenewalStore;
    let begin: number;

    /** A token that was issued at the begin of the test, and lasts ten hours. */
    const life = (issued_at: number | null = begin) => ({ issued_at, expires_at: begin + 10 * HOUR });
    const put = (token: string, expected: string | null = null) =>
      test.store.links.put({ key: KEY, token, person: ada, ttl_ms: 30 * DAY }, new Map([[KEY, expected]]));
    const seconds = (ms: number) => Math.floor(ms / 1000);
    const renewed = (members: Partial<RenewedToken> = {}): RenewedToken => ({
      token: 'second',
      sent: { sub: 'ada', iat: seconds(begin) },
      origin: { sub: 'ada', iat: seconds(test.now()) },
      life: { issued_at: test.now(), expires_at: test.now() + 10 * HOUR },
      ...members,
    });
    /** A link whose renewal is due and claimed. */
    async function claimed(): Promise<RenewalClaim> {
      await put('first');
      await renewals.meet(KEY, 'first', life());
      test.advance(8 * HOUR);
      const claim = await renewals.take(KEY, LEASE);
      if (claim === null) throw new Error('not claimed');
      return claim;
    }
    const tokenNow = async () => (await test.store.links.get(KEY))?.token;
    const signOut = () =>
      test.store.signOutMarks.add({
        ...{ iss: '', jti: 'j', iat: seconds(begin), sub: 'ada', tenant_id: null, sid: null },
        expires_at: test.now() + HOUR,
      });

    beforeEach(() => {
      test = current();
      renewals = test.store.linkRenewals;
      begin = test.now();
    });

    it('are due from four fifths of the life of the token on, and no longer once it has expired', async () => {
      await put('first');
      test.advance(HOUR);
      expect(await renewals.meet(KEY, 'first', life())).toMatchObject({
        ...{ isDue: false, due_at: begin + 8 * HOUR, renewed_at: null, failed: null, isOver: false },
      });
      test.advance(7 * HOUR - 1);
      expect([await renewals.take(KEY, LEASE), await renewals.due(DAY, 9)]).toEqual([null, []]);
      test.advance(1);
      expect(await renewals.meet(KEY, 'first', life())).toMatchObject({ isDue: true });
      expect(await renewals.due(DAY, 9)).toEqual([KEY]);
      test.advance(2 * HOUR);
      expect(await renewals.take(KEY, LEASE)).toBeNull();
      expect(await renewals.due(DAY, 9)).toEqual([]);
      expect(await renewals.find(KEY)).toMatchObject({ isDue: false });
    });

    it('count from the storing of a token that does not say when it was issued', async () => {
      await put('first');
      test.advance(5 * HOUR);
      expect(await renewals.meet(KEY, 'first', life(null))).toMatchObject({ due_at: begin + 8 * HOUR });
    });

    it('know nothing of a link that is gone, or that has another token', async () => {
      expect(await renewals.meet(KEY, 'first', life())).toBeNull();
      await put('first');
      expect(await renewals.meet(KEY, 'other', life())).toBeNull();
      await renewals.meet(KEY, 'first', life());
      await put('other', 'first');
      expect(await renewals.find(KEY)).toBeNull();
      test.advance(9 * HOUR);
      expect([await renewals.take(KEY, LEASE), await renewals.due(DAY, 9)]).toEqual([null, []]);
    });

    it('are claimed by one daemon at a time, until the claim expires', async () => {
      await put('first');
      await renewals.meet(KEY, 'first', life());
      test.advance(8 * HOUR);
      const other = (await test.beside()).linkRenewals;
      const claims = await Promise.all([renewals, other, renewals].map((one) => one.take(KEY, LEASE)));
      const [first] = claims.filter((claim) => claim !== null);
      expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
      expect(first).toMatchObject({ key: KEY, token: 'first', failures: 0 });
      test.advance(LEASE);
      expect(await other.take(KEY, LEASE)).not.toBeNull();
      expect(await renewals.renew(first as RenewalClaim, renewed())).toBe(false);
      expect(await tokenNow()).toBe('first');
    });

    it('store the new token, and keep the end of the link', async () => {
      const claim = await claimed();
      await test.store.links.noteExpiryNotified(KEY, 'first');
      await test.store.links.bindAlias(KEY, 'first', { alias: 'chat:alias', person: ada });
      expect(await renewals.renew(claim, renewed())).toBe(true);
      expect(await test.store.links.findByAlias('chat:alias')).toMatchObject({
        ...{ key: KEY, token: 'second', expires_at: begin + 30 * DAY, expiry_notified: false },
      });
      expect(await renewals.find(KEY)).toMatchObject({
        ...{ renewed_at: test.now(), due_at: test.now() + 8 * HOUR, failed: null },
      });
      expect(await renewals.renew(claim, renewed({ token: 'third' }))).toBe(false);
      const again = await test.restart();
      test.advance(8 * HOUR);
      expect(await again.linkRenewals.take(KEY, LEASE)).toMatchObject({ token: 'second' });
    });

    it('store nothing after a sign-out, after the link was removed, or after it was made again', async () => {
      const changes: [what: string, change: () => Promise<unknown>, left: string | undefined][] = [
        ['signed out', signOut, 'first'],
        ['removed', () => dropLink(test.store.links, KEY), undefined],
        ['made again', () => put('other', 'first'), 'other'],
        [
          'made again with the same token',
          async () => {
            await dropLink(test.store.links, KEY);
            await put('first');
            await renewals.meet(KEY, 'first', life());
          },
          'first',
        ],
      ];
      for (const [what, change, left] of changes.toReversed()) {
        const claim = await claimed();
        await change();
        expect(await renewals.renew(claim, renewed()), what).toBe(false);
        expect(await tokenNow(), what).toBe(left);
        await dropLink(test.store.links, KEY);
        begin = test.now();
      }
      await signOut();
    });

    it('store no token that is itself covered by a sign-out', async () => {
      const claim = await claimed();
      await signOut();
      const sent = { sub: 'ada', iat: seconds(test.now()) + 1 };
      const origin = { sub: 'ada', iat: seconds(begin) };
      expect(await renewals.renew(claim, renewed({ sent, origin }))).toBe(false);
      expect(await renewals.renew(claim, renewed({ sent }))).toBe(true);
    });

    it('wait after a failure, and count it; a success forgets it', async () => {
      let claim = await claimed();
      await renewals.fail(claim, 'http_500', HOUR);
      expect(await renewals.find(KEY)).toMatchObject({
        ...{ isDue: false, failures: 1, failed: { reason: 'http_500', at: test.now() }, isOver: false },
      });
      expect(await renewals.take(KEY, LEASE)).toBeNull();
      test.advance(HOUR);
      claim = (await renewals.take(KEY, LEASE)) as RenewalClaim;
      expect(claim.failures).toBe(1);
      await renewals.renew(claim, renewed());
      expect(await renewals.find(KEY)).toMatchObject({ failures: 0, failed: null });
    });

    it('stop for a token that the issuer will not renew, but not for the next token', async () => {
      const claim = await claimed();
      await renewals.stop(claim, 'invalid_request');
      expect(await renewals.find(KEY)).toMatchObject({ isOver: true, failed: { reason: 'invalid_request' } });
      expect([await renewals.take(KEY, LEASE), await renewals.due(DAY, 9)]).toEqual([null, []]);
      expect(await tokenNow()).toBe('first');
      await put('next', 'first');
      expect(await renewals.meet(KEY, 'next', life(test.now()))).toMatchObject({ isOver: false });
    });

    it('end the link of a person who is no longer signed in, with the pending actions there', async () => {
      const claim = await claimed();
      const session = aSession(test.now(), { platform: 'chat', user_id: 'u1' });
      await saveSession(test.store, session);
      const pending = aPendingAction(session, { person: ada, principal: ada });
      await commitUnderClaim(test.store, session.session_id, { trace: aTrace(session), pending: [pending] });
      expect(await renewals.endLink({ ...claim, token: 'other' })).toBe(false);
      expect(await renewals.endLink(claim)).toBe(true);
      expect(await renewals.endLink(claim)).toBe(false);
      expect(await tokenNow()).toBeUndefined();
      expect((await test.store.actions.find(pending.action_id))?.state).toBe('withdrawn');
    });

    it('leave out links that nobody has used for long, until somebody uses them', async () => {
      await put('first');
      await renewals.meet(KEY, 'first', life());
      test.advance(8 * HOUR);
      expect(await renewals.due(8 * HOUR, 9)).toEqual([]);
      expect(await renewals.due(DAY, 9)).toEqual([]);
      expect(await renewals.take(KEY, LEASE)).not.toBeNull();
      await renewals.meet(KEY, 'first', life());
      expect(await renewals.due(8 * HOUR, 9)).toEqual([KEY]);
      test.advance(USED_WITHIN_MS - 1);
      await renewals.meet(KEY, 'first', life());
      expect(await renewals.due(USED_WITHIN_MS, 9)).toEqual([KEY]);
      test.advance(1);
      expect(await renewals.due(USED_WITHIN_MS, 9)).toEqual([]);
    });

    it('all wait while this service is refused as a client; the first success ends that', async () => {
      const claim = await claimed();
      expect(await renewals.refused()).toBeNull();
      const since = test.now();
      await renewals.noteRefused('http_401', HOUR);
      await renewals.fail(claim, 'http_401', 1);
      test.advance(1);
      expect(await renewals.take(KEY, LEASE)).toBeNull();
      await renewals.noteRefused('invalid_client', HOUR);
      expect(await renewals.refused()).toMatchObject({ reason: 'invalid_client', since, count: 2 });
      test.advance(HOUR);
      const next = (await renewals.take(KEY, LEASE)) as RenewalClaim;
      await renewals.renew(next, renewed());
      expect(await renewals.refused()).toBeNull();
    });

    it('go on after the token was sealed with another key', async () => {
      const claim = await claimed();
      expect(await test.store.replaceToken({ kind: 'link', key: KEY, token: 'first' }, 'resealed')).toBe(
        true,
      );
      expect(await renewals.renew(claim, renewed())).toBe(false);
      expect(await renewals.renew({ ...claim, token: 'resealed' }, renewed())).toBe(true);
    });

    it('end with their link', async () => {
      await put('first');
      await renewals.meet(KEY, 'first', life());
      test.advance(30 * DAY);
      await sweepAll(test.store);
      expect(await renewals.find(KEY)).toBeNull();
      expect(await renewals.due(60 * DAY, 9)).toEqual([]);
    });
  });
}
