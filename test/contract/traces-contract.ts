import { beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/daemon/store/store.ts';
import { aTrace } from './fixtures.ts';
import { type StoreUnderTest, WANTED } from './store-contract.ts';
import { sweepAll } from './store-writes.ts';

/** The contract of the port `traces`. */
export function describeTraces(current: () => StoreUnderTest): void {
  describe('traces', () => {
    let test: StoreUnderTest;
    let store: Store;

    beforeEach(() => {
      test = current();
      store = test.store;
    });

    it('are listed, the newest of messages and of refused requests, oldest first', async () => {
      const { traces } = test.store;
      for (const request_id of ['a', 'b', 'c']) {
        await traces.keep(aTrace(null, { request_id }));
        test.advance(1);
      }
      await traces.keepRefused(aTrace(null, { request_id: 'r' }));
      const ids = async (limit: number) => (await traces.recent(limit)).map(({ request_id }) => request_id);
      expect(await ids(2)).toEqual(['b', 'c', 'r']);
      expect(await ids(9)).toEqual(['a', 'b', 'c', 'r']);
    });

    it('finds a trace by turn, request, session or message id, with or without the channel name', async () => {
      const trace = aTrace(null, { session_id: 's:1', message_id: 'C1:17.5', platform: 'chat' });
      await store.traces.keep(trace);
      for (const id of [trace.turn_id, trace.request_id, 's:1', 'C1:17.5', 'chat:C1:17.5']) {
        expect(await store.traces.find(id), id).toEqual([trace]);
      }
      for (const id of ['other:C1:17.5', 'C1', '17.5', '', ':', 'chat:']) {
        expect(await store.traces.find(id), id).toEqual([]);
      }
    });

    it('finds the traces of a user on one channel or on all, including those of refused requests', async () => {
      const of = (platform: string, user_id: string) => aTrace(null, { platform, user_id });
      const [ada, refused, elsewhere] = [of('chat', 'ada'), of('chat', 'ada'), of('sms', 'ada')];
      await store.traces.keepRefused(refused);
      for (const trace of [ada, elsewhere, of('chat', 'ada2'), aTrace(null, { user_id: null })]) {
        test.advance(1);
        await store.traces.keep(trace);
      }
      expect(await store.traces.findOf({ platform: 'chat', user_id: 'ada' })).toEqual([refused, ada]);
      expect(await store.traces.findOf({ user_id: 'ada' })).toEqual([refused, ada, elsewhere]);
      expect(await store.traces.findOf({ platform: 'sms', user_id: 'ada2' })).toEqual([]);
    });

    it('returns the newest 200 traces, oldest first', async () => {
      await Promise.all(
        Array.from({ length: 205 }, (_, index) =>
          store.traces.keep(aTrace(null, { session_id: 's', started_at: index })),
        ),
      );
      const found = await store.traces.find('s');
      expect(found.map(({ started_at }) => started_at)).toEqual(Array.from({ length: 200 }, (_, i) => i + 5));
    });

    it('deletes traces that are older than the retention', async () => {
      await store.traces.keep(aTrace(null, { session_id: 'old' }));
      test.advance(WANTED.traceRetentionMs - 1);
      await store.traces.keep(aTrace(null, { session_id: 'new' }));
      await sweepAll(store);
      expect(await store.traces.find('old')).toHaveLength(1);
      test.advance(1);
      await sweepAll(store);
      expect(await store.traces.find('old')).toEqual([]);
      expect(await store.traces.find('new')).toHaveLength(1);
    });

    it('keeps the newest traces if there are too many', async () => {
      const many = Array.from({ length: WANTED.tracesMax + 7 }, (_, index) =>
        aTrace(null, { message_id: `m${index}` }),
      );
      await Promise.all(many.map((trace) => store.traces.keep(trace)));
      await sweepAll(store);
      expect(await store.traces.find('m6')).toEqual([]);
      expect(await store.traces.find('m7')).toHaveLength(1);
      expect(await store.traces.find(`m${WANTED.tracesMax + 6}`)).toHaveLength(1);
    });

    describe('of refused requests', () => {
      it('are found together with other traces, oldest first', async () => {
        const [kept, refused] = [aTrace(null, { message_id: 'm' }), aTrace(null, { message_id: 'm' })];
        await store.traces.keepRefused(refused);
        test.advance(1);
        await store.traces.keep(kept);
        expect(await store.traces.find('m')).toEqual([refused, kept]);
        expect(await store.traces.find(refused.request_id)).toEqual([refused]);
      });

      it('displace only traces of other refused requests, however many there are', async () => {
        const person = aTrace(null, { message_id: 'of a person' });
        await store.traces.keep(person);
        const many = Array.from({ length: WANTED.tracesMax + WANTED.refusedMax + 3 }, (_, index) =>
          aTrace(null, { message_id: `m${index}` }),
        );
        await Promise.all(many.map((trace) => store.traces.keepRefused(trace)));
        await sweepAll(store);
        expect(await store.traces.find('of a person')).toEqual([person]);
        expect(await store.traces.find(`m${WANTED.tracesMax + 2}`)).toEqual([]);
        expect(await store.traces.find(`m${WANTED.tracesMax + 3}`)).toHaveLength(1);
      });

      it('are deleted when they are older than the retention', async () => {
        await store.traces.keepRefused(aTrace(null, { message_id: 'old' }));
        test.advance(WANTED.traceRetentionMs);
        await sweepAll(store);
        expect(await store.traces.find('old')).toEqual([]);
      });
    });
  });
}
