import { beforeEach, describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/channel/index.ts';
import { CLAIM_MS, type StreamClaim } from '../../src/daemon/store/claims/claims.ts';
import type { NewStream, StreamStore } from '../../src/daemon/store/streams.ts';
import { ada, aStream, bob, STREAM_TTL as TTL } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';
import { callBoth, sweepAll, sweepExpired } from './store-writes.ts';

const NOBODY = { owner: null, reader: null };
const INTERRUPTED = { event: 'error', data: '{"code":"interrupted"}' } as const;

/** The contract of the port `streams`. */
export function describeStreams(current: () => StoreUnderTest): void {
  describe('streams', () => {
    let test: StoreUnderTest;
    let streams: StreamStore;
    /** Those of another daemon. */
    let others: StreamStore;

    beforeEach(async () => {
      test = current();
      streams = test.store.streams;
      others = (await test.another()).streams;
    });

    it('are counted by channel and state while they wait or run', async () => {
      for (const stream_id of ['a', 'b', 'c']) await streams.create(aStream({ stream_id }));
      const claim = await streams.claim('b', { owner: null, reader: null });
      await streams.claim('c', { owner: null, reader: null });
      if (claim === null) throw new Error('no claim');
      await streams.append(claim, [{ id: 1, event: 'stream_complete', data: '{}' }]);
      const counts = await streams.counts();
      expect(counts.sort((one, other) => (one.state < other.state ? -1 : 1))).toEqual([
        { platform: 'chat', state: 'running', streams: 1 },
        { platform: 'chat', state: 'waiting', streams: 1 },
      ]);
    });

    it('returns a stream as it was created, until its waiting time has passed', async () => {
      const stream = aStream({ owner: ada, token: 'sealed.v1.x', idempotency_key: 'k' });
      const record = { ...stream, reader: null, state: 'waiting', stop_requested: false, last_event: 0 };
      expect(await streams.create(stream)).toEqual(record);
      expect(await streams.find(stream.stream_id)).toEqual(record);
      expect(await streams.findByKey('k')).toEqual(record);
      expect(await streams.find('another')).toBeNull();
      test.advance(TTL - 1);
      expect(await streams.find(stream.stream_id)).toEqual(record);
      test.advance(1);
      expect(await streams.find(stream.stream_id)).toBeNull();
      expect(await streams.findByKey('k')).toBeNull();
      expect(await streams.claim(stream.stream_id, NOBODY)).toBeNull();
      if (test.store.maintenance !== null) expect(await sweepExpired(test)).toBeGreaterThan(0);
    });

    it('creates one stream for a key, even for many callers at once, until the stream has expired', async () => {
      const many = Array.from({ length: 10 }, () => aStream({ idempotency_key: 'k' }));
      const created = await callBoth(test, 10, (store, n) => store.streams.create(many[n] as NewStream));
      const [kept, ...more] = new Set(created.map(({ stream_id }) => stream_id));
      expect(more).toEqual([]);
      for (const { stream_id } of many)
        expect((await streams.find(stream_id)) !== null, stream_id).toBe(stream_id === kept);
      test.advance(TTL);
      const later = aStream({ idempotency_key: 'k' });
      expect((await streams.create(later)).stream_id).toBe(later.stream_id);
      expect((await streams.findByKey('k'))?.stream_id).toBe(later.stream_id);
    });

    it('lets one caller begin the run, however many try at once, and then deletes the token', async () => {
      const stream = aStream({ token: 'a.b.c' });
      await streams.create(stream);
      const claims = await callBoth(test, 20, (store) => store.streams.claim(stream.stream_id, NOBODY));
      expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
      expect(await streams.find(stream.stream_id)).toMatchObject({
        state: 'running',
        token: null,
        last_event: 0,
      });
      expect(await streams.read(stream.stream_id, 0)).toEqual([]);
    });

    it('forgets with the claim what only the run needs: the token, the text and the trace', async () => {
      const stream = aStream({ token: 'sealed.v1.x' });
      const { message } = stream.start;
      message.metadata = { jwt_token: null, page_url: 'https://shop.example/' };
      stream.start.trace = [{ at: 1, step: 'guard', verdict: 'ok' }];
      await streams.create(stream);
      await streams.claim(stream.stream_id, NOBODY);
      const { token, start } = (await streams.find(stream.stream_id)) ?? {};
      const { platform, user_id, channel_id, thread_id } = message;
      expect(token).toBeNull();
      expect(start).toEqual({
        ...stream.start,
        message: { platform, user_id, channel_id, thread_id, text: '', metadata: { jwt_token: null } },
        trace: [],
      });
    });

    it('stores the first events with the claim, and only those of the caller that gets the claim', async () => {
      const { stream_id } = await streams.create(aStream());
      const told: unknown[] = [];
      const end = streams.subscribe(stream_id, (...change) => told.push(change));
      const claims = await Promise.all(
        Array.from({ length: 5 }, () => streams.claim(stream_id, NOBODY, [started()])),
      );
      const [claim] = claims.filter((one) => one !== null);
      expect(claims.filter((one) => one !== null)).toHaveLength(1);
      expect(told).toEqual([['events', [started()]]]);
      expect(await streams.find(stream_id)).toMatchObject({ state: 'running', last_event: 1 });
      expect(await streams.append(claim as StreamClaim, [chunk(2)])).toBe(true);
      expect(await streams.read(stream_id, 0)).toEqual([started(), chunk(2)]);
      end();
    });

    it('gives the stream to the person who begins its run, unless the stream has an owner', async () => {
      const [mine, nobodys] = [aStream({ owner: ada }), aStream({ owner: null })];
      await Promise.all([streams.create(mine), streams.create(nobodys)]);
      await streams.claim(mine.stream_id, NOBODY);
      await streams.claim(nobodys.stream_id, { owner: bob, reader: bob });
      expect(await streams.find(mine.stream_id)).toMatchObject({ owner: ada, reader: null });
      expect(await streams.find(nobodys.stream_id)).toMatchObject({ owner: bob, reader: bob });
    });

    it('returns the events after a given event, and rejects events that do not follow the last one', async () => {
      const { claim, stream_id } = await running();
      expect(await streams.append(claim, [chunk(2), chunk(3)])).toBe(true);
      await streams.append(claim, [chunk(4)]);
      await expect(streams.append(claim, [chunk(4)])).rejects.toThrow(/does not follow/);
      await expect(streams.append(claim, [chunk(6)])).rejects.toThrow(/does not follow/);
      await expect(streams.append(claim, [chunk(5), chunk(7)])).rejects.toThrow(/does not follow/);
      expect(await others.read(stream_id, 0)).toEqual([started(), chunk(2), chunk(3), chunk(4)]);
      expect(await others.read(stream_id, 3)).toEqual([chunk(4)]);
      expect(await others.read(stream_id, 4)).toEqual([]);
      expect(await streams.append(claim, [])).toBe(true);
      expect(await streams.find(stream_id)).toMatchObject({ state: 'running', last_event: 4 });
    });

    it('keeps a stream while its run lasts, and its events for a limited time after the end', async () => {
      const { claim, stream_id } = await running();
      test.advance(10 * TTL);
      await sweepAll(test.store);
      expect((await streams.find(stream_id))?.state).toBe('running');
      await streams.append(claim, ending(2));
      expect(await streams.find(stream_id)).toMatchObject({ state: 'ended', last_event: 3 });
      expect(await streams.append(claim, [chunk(4)])).toBe(false);
      test.advance(TTL - 1);
      await sweepAll(test.store);
      expect(await streams.read(stream_id, 0)).toHaveLength(3);
      test.advance(1);
      expect(await streams.find(stream_id)).toBeNull();
      expect(await streams.read(stream_id, 0)).toBeNull();
      if (test.store.maintenance !== null) expect(await sweepExpired(test)).toBeGreaterThan(0);
    });

    it('keeps the key of a stream that was answered, and frees the key of a stream that failed', async () => {
      const answered = await running({ idempotency_key: 'answered' });
      const failed = await running({ idempotency_key: 'failed' });
      await streams.append(answered.claim, ending(2));
      await streams.append(failed.claim, [{ id: 2, event: 'error', data: '{}' }]);
      expect((await streams.findByKey('answered'))?.stream_id).toBe(answered.stream_id);
      expect(await streams.findByKey('failed')).toBeNull();
    });

    it('wakes subscribers after events and after a request to stop, until they unsubscribe', async () => {
      const { claim, stream_id } = await running();
      const seen: unknown[] = [];
      const unsubscribe = streams.subscribe(stream_id, (change, added) => seen.push([change, added]));
      await streams.append(claim, [chunk(2)]);
      await streams.requestStop(stream_id);
      const both = [
        ['events', [chunk(2)]],
        ['stop', undefined],
      ];
      expect(seen).toEqual(both);
      unsubscribe();
      await streams.append(claim, [chunk(3)]);
      expect(seen).toEqual(both);
    });

    it('stores a request to stop only while the stream is running', async () => {
      const waiting = aStream();
      await streams.create(waiting);
      await streams.requestStop(waiting.stream_id);
      await streams.requestStop('unknown');
      expect(await streams.find(waiting.stream_id)).toMatchObject({ stop_requested: false });
      const { claim, stream_id } = await running();
      await others.requestStop(stream_id);
      expect(await streams.find(stream_id)).toMatchObject({ state: 'running', stop_requested: true });
      await streams.append(claim, ending(2));
      expect(await streams.find(stream_id)).toMatchObject({ state: 'ended', stop_requested: false });
      const [ended, givenUp] = [await running(), await running()];
      await streams.append(ended.claim, ending(2));
      await streams.release(givenUp.claim);
      for (const { stream_id } of [ended, givenUp]) {
        await streams.requestStop(stream_id);
        expect(await streams.find(stream_id)).toMatchObject({ stop_requested: false });
      }
    });

    it('ends abandoned runs, and no others', async () => {
      const [alive, givenUp, ended] = [await running(), await running(), await running()];
      await streams.append(givenUp.claim, [chunk(2)]);
      await streams.append(ended.claim, ending(2));
      for (const { claim } of [givenUp, ended]) await streams.release(claim);
      expect(await streams.append(givenUp.claim, [chunk(3)])).toBe(false);
      const seen: string[] = [];
      streams.subscribe(givenUp.stream_id, (change) => seen.push(change));
      expect(await streams.reap(INTERRUPTED)).toBe(1);
      expect(await streams.reap(INTERRUPTED)).toBe(0);
      expect(seen).toEqual(['events']);
      expect(await streams.read(givenUp.stream_id, 1)).toEqual([chunk(2), { ...INTERRUPTED, id: 3 }]);
      expect((await streams.find(givenUp.stream_id))?.state).toBe('ended');
      expect((await streams.find(alive.stream_id))?.state).toBe('running');
      expect(await streams.read(ended.stream_id, 0)).toHaveLength(3);
    });

    it('ends the runs of a process that died', async () => {
      const { stream_id } = await running({ idempotency_key: 'k' });
      streams = (await test.restart()).streams;
      test.advance(CLAIM_MS);
      expect(await streams.reap(INTERRUPTED)).toBe(1);
      expect(await streams.read(stream_id, 1)).toEqual([{ ...INTERRUPTED, id: 2 }]);
      expect(await streams.findByKey('k')).toBeNull();
    });

    describe('claims', () => {
      it('are valid for CLAIM_MS, unless they are renewed', async () => {
        const { claim, stream_id } = await running();
        for (let n = 0; n < 3; n++) {
          test.advance(CLAIM_MS - 1);
          expect(await others.reap(INTERRUPTED)).toBe(0);
          expect(await streams.renew(claim)).toBe(true);
        }
        test.advance(CLAIM_MS);
        const reaped = await callBoth(test, 2, (store) => store.streams.reap(INTERRUPTED));
        expect(reaped.sort()).toEqual([0, 1]);
        expect(await streams.renew(claim)).toBe(false);
        expect(await streams.append(claim, [chunk(2)])).toBe(false);
        expect(await streams.read(stream_id, 1)).toEqual([{ ...INTERRUPTED, id: 2 }]);
      });

      it('still belong to their owner after they have expired, until the run is ended', async () => {
        const { claim, stream_id } = await running();
        test.advance(CLAIM_MS);
        expect(await streams.append(claim, [chunk(2)])).toBe(true);
        expect(await streams.renew(claim)).toBe(true);
        expect(await streams.reap(INTERRUPTED)).toBe(0);
        expect(await streams.claim(stream_id, NOBODY)).toBeNull();
      });

      it('of another owner allow no write', async () => {
        const { claim, stream_id } = await running();
        const other = { ...claim, owner: 'another' };
        expect(await streams.append(other, [chunk(2)])).toBe(false);
        expect(await streams.renew(other)).toBe(false);
        await streams.release(other);
        expect(await streams.reap(INTERRUPTED)).toBe(0);
        expect(await streams.read(stream_id, 1)).toEqual([]);
      });
    });

    async function running(
      members: Partial<NewStream> = {},
    ): Promise<{ stream_id: string; claim: StreamClaim }> {
      const { stream_id } = await streams.create(aStream(members));
      const claim = await streams.claim(stream_id, NOBODY);
      if (!claim) throw new Error('the stream was not claimed');
      expect(claim.stream_id).toBe(stream_id);
      await streams.append(claim, [started()]);
      return { stream_id, claim };
    }
  });
}

function started(): StreamEvent {
  return { id: 1, event: 'stream_start', data: '{"session_id":"s1"}' };
}

function chunk(id: number): StreamEvent {
  return { id, event: 'text_chunk', data: `{"text":"piece ${id} – ü"}` };
}

function ending(id: number): StreamEvent[] {
  return [
    { id, event: 'complete', data: '{}' },
    { id: id + 1, event: 'stream_complete', data: '{}' },
  ];
}
