import { beforeEach, describe, expect, it } from 'vitest';
import { type Session, sessionTag } from '../../src/daemon/session/session.ts';
import type { Summary } from '../../src/daemon/store/sessions/summaries.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { ada, aSession, bob } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { callBoth, saveSession } from './store-writes.ts';

const MINUTE = 60_000;

/** The contract of the port `summaries`. */
export function describeSummaries(current: () => StoreUnderTest): void {
  describe('summaries', () => {
    let test: StoreUnderTest;
    let store: Store;
    let session: Session;
    let tag: string;
    const aSummary = (members: Partial<Summary> = {}): Summary => ({
      principal: ada,
      text: 'They asked for order 7.',
      tainted: false,
      through_turn: 't1',
      through_at: 1,
      ...members,
    });
    const kept = async (summary: Summary) => {
      const token = await store.summaries.begin(tag, MINUTE);
      return store.summaries.keep(tag, token ?? 'none', summary);
    };

    beforeEach(async () => {
      test = current();
      store = test.store;
      session = aSession(test.now(), { owner: ada });
      tag = sessionTag(session);
      await saveSession(store, session);
    });

    it('finds a summary exactly as it was stored, but only for its principal', async () => {
      expect(await store.summaries.find(tag, ada)).toBeNull();
      expect(await kept(aSummary())).toBe(true);
      expect(await store.summaries.find(tag, ada)).toEqual(aSummary());
      expect(await kept(aSummary({ tainted: true }))).toBe(true);
      expect(await store.summaries.find(tag, ada)).toEqual(aSummary({ tainted: true }));
      expect(await store.summaries.find(tag, bob)).toBeNull();
      expect(await store.summaries.find('another', ada)).toBeNull();
    });

    it('replaces the summary of the same principal', async () => {
      await kept(aSummary());
      await kept(aSummary({ principal: bob, text: "Bob's" }));
      await kept(aSummary({ text: 'Order 7 is on its way.', through_turn: 't2', through_at: 2 }));
      expect(await store.summaries.find(tag, ada)).toMatchObject({ text: 'Order 7 is on its way.' });
      expect(await store.summaries.find(tag, bob)).toMatchObject({ text: "Bob's" });
    });

    it('lets one caller at a time make a summary of a session', async () => {
      const token = await store.summaries.begin(tag, MINUTE);
      expect(await store.summaries.begin(tag, MINUTE)).toBeNull();
      expect(await store.summaries.keep(tag, token ?? '', aSummary())).toBe(true);
      expect(await store.summaries.begin(tag, MINUTE)).not.toBeNull();
    });

    it('lets only one of two daemons make a summary, if the backend allows two', async () => {
      const begun = await callBoth(test, 20, ({ summaries }) => summaries.begin(tag, MINUTE));
      expect(begun.filter((token) => token !== null)).toHaveLength(1);
    });

    it('lets another caller take over after the time has passed, and refuses the late summary', async () => {
      const late = await store.summaries.begin(tag, MINUTE);
      test.advance(MINUTE);
      const next = await store.summaries.begin(tag, MINUTE);
      expect(next).not.toBeNull();
      expect(await store.summaries.keep(tag, late ?? '', aSummary({ text: 'late' }))).toBe(false);
      expect(await store.summaries.find(tag, ada)).toBeNull();
      expect(await store.summaries.keep(tag, next ?? '', aSummary())).toBe(true);
    });

    it('deletes summaries with the session, however the session ends', async () => {
      await kept(aSummary());
      await store.sessions.end(session.session_id);
      expect(await store.summaries.find(tag, ada)).toBeNull();
      expect(await store.summaries.begin(tag, MINUTE)).toBeNull();
      await saveSession(store, session);
      expect(await store.summaries.find(tag, ada)).toBeNull();

      await kept(aSummary());
      await saveSession(store, { ...session, owner: bob }, 'replaced');
      expect(await store.summaries.find(tag, ada)).toBeNull();

      await kept(aSummary());
      test.advance(60 * MINUTE);
      expect(await store.summaries.find(tag, ada)).toBeNull();
    });

    it('stores nothing if the session has ended meanwhile', async () => {
      const token = await store.summaries.begin(tag, MINUTE);
      await store.sessions.end(session.session_id);
      await saveSession(store, session);
      expect(await store.summaries.keep(tag, token ?? '', aSummary())).toBe(false);
      expect(await store.summaries.find(tag, ada)).toBeNull();
    });
  });
}
