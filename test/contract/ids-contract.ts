import { beforeEach, describe, expect, it } from 'vitest';
import { type IdKind, type IdStore, SHORT_MIN } from '../../src/daemon/store/ids.ts';
import { anInboxMessage, aSession, aTrace, aTurn } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { keepTurn, saveSession } from './store-writes.ts';

/** The contract of the port `ids`. */
export function describeIds(current: () => StoreUnderTest): void {
  describe('ids', () => {
    let test: StoreUnderTest;
    let ids: IdStore;

    const found = async (kinds: IdKind[], text: string, limit = 9) =>
      (await ids.beginningWith(kinds, text, limit)).map(({ id, of }) => `${id} of ${of}`).sort();
    const session = (session_id: string, former_id: string | null = null) =>
      saveSession(test.store, aSession(test.now(), { session_id, former_id }));

    beforeEach(() => {
      test = current();
      ids = test.store.ids;
    });

    it('of sessions are found by their beginning, also the id from before sign-in', async () => {
      await session('web_ada_1');
      await session('web_ada_2', 'web_old');
      await session('other');
      expect(await found(['session'], 'web_ada')).toEqual(['web_ada_1 of web_ada_1', 'web_ada_2 of web_old']);
      expect(await found(['session'], 'web_o')).toEqual(['web_old of web_old']);
      expect(await found(['session'], 'x')).toEqual([]);
      expect(await found(['trace', 'message'], 'web')).toEqual([]);
    });

    it('that equal the text are found, however many begin with it', async () => {
      for (const n of ['', 'a', 'b', 'c']) await session(`s${n}`);
      const [first, ...others] = await ids.beginningWith(['session'], 's', 2);
      expect(first).toEqual({ id: 's', of: 's' });
      expect(others).toHaveLength(2);
    });

    it('of messages, traces and ratings are found with all ids of the same record', async () => {
      const message = anInboxMessage({ id: 'i-1', request_id: 'r-1', message_id: 'C1:17.5' });
      await test.store.inbox.enqueue([message]);
      expect(await found(['message'], 'C1:')).toEqual(['C1:17.5 of i-1']);
      expect(await found(['message'], 'chat:C1')).toEqual(['chat:C1:17.5 of i-1']);
      expect(await found(['message'], 'r-')).toEqual(['r-1 of i-1']);

      const trace = aTrace(null, { turn_id: 't-1', request_id: 'r-2', session_id: 'sess' });
      await test.store.traces.keep(trace);
      await test.store.traces.keepRefused(aTrace(null, { turn_id: 't-2', request_id: 'r-3' }));
      expect(await found(['trace', 'message'], 'r-')).toEqual(['r-1 of i-1', 'r-2 of t-1', 'r-3 of t-2']);
      expect(await found(['trace'], 'ses')).toEqual(['sess of sess']);

      const rated = aSession(test.now(), { session_id: 'rated' });
      await saveSession(test.store, rated);
      await keepTurn(
        test.store,
        rated,
        aTurn({ turn_id: 'f-1', request_id: 'r-4', finished_at: test.now() }),
      );
      const rating = { session_id: 'rated', turn_id: 'f-1', rating: 1, comment: null } as const;
      await test.store.feedback.rate(rating, { kind: 'client', person: null, namespaces: ['web'] });
      expect(await found(['feedback'], 'f')).toEqual(['f-1 of f-1']);
      expect(await found(['feedback'], 'r-4')).toEqual(['r-4 of f-1']);
    });

    it('are shortened to a beginning that no other id of the kind has, beyond its first part', async () => {
      const alone = 'unlike-any-other';
      const generated = 'webchat_visitor_AbCdEfGhIjKlMnOp';
      const group = 'pigeonpost:C0FFEE:D0ADA';
      const [long, alike, short] = ['web_ada_1234567890123', 'web_ada_129', 'web_ada_12'];
      for (const id of [long, alike, short, alone, generated, group]) await session(id);
      expect([...(await ids.shorten('session', [long, short, alone, generated, group, 'gone']))]).toEqual([
        [long, 'web_ada_123456'],
        [short, short],
        [alone, alone.slice(0, SHORT_MIN)],
        [generated, 'webchat_visitor_Ab'],
        [group, 'pigeonpost:C0FFEE:D0A'],
        ['gone', 'gone'],
      ]);
    });
  });
}
