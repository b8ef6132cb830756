import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { StreamEvent } from '../../src/channel/index.ts';
import type { NewStream, StreamStore } from '../../src/daemon/store/streams.ts';
import { ada, bob } from './fixtures.ts';
import type { StoreUnderTest } from './store-contract.ts';

const TTL = 300_000;
const INTERRUPTED = { event: 'error', data: '{"code":"interrupted"}' } as const;

/** The contract of the port `streams`. */
export function describeStreams(current: () => StoreUnderTest): void {
  describe('streams', () => {
    let test: StoreUnderTest;
    let streams: StreamStore;

    beforeEach(() => {
      test = current();
      streams = test.store.streams;
    });

    it('gives back a stream as it was kept, until nobody has opened it in its time', async () => {
      const stream = aStream({ owner: ada, token: 'sealed.v1.x', idempotency_key: 'k' });
      const record = { ...stream, state: 'waiting', last_event: 0 };
      expect(await streams.create(stream)).toEqual(record);
      expect(await streams.find(stream.stream_id)).toEqual(record);
      expect(await streams.findByKey('k')).toEqual(record);
      expect(await streams.find('another')).toBeNull();
      test.advance(TTL - 1);
      expect(await streams.find(stream.stream_id)).toEqual(record);
      test.advance(1);
      expect(await streams.find(stream.stream_id)).toBeNull();
      expect(await streams.findByKey('k')).toBeNull();
      expect(await streams.claim(stream.stream_id, started(), null)).toBe(false);
      expect(await sweepAll()).toBe(1);
    });

    it('has one stream for a key, however many are kept at once, and another when its time has passed', async () => {
      const many = Array.from({ length: 10 }, () => aStream({ idempotency_key: 'k' }));
      const kept = await Promise.all(many.map((stream) => streams.create(stream)));
      expect(new Set(kept.map(({ stream_id }) => stream_id))).toEqual(new Set([many[0]?.stream_id]));
      expect(await streams.find(many[1]?.stream_id ?? '')).toBeNull();
      test.advance(TTL);
      const later = aStream({ idempotency_key: 'k' });
      expect((await streams.create(later)).stream_id).toBe(later.stream_id);
    });

    it('lets one begin the run, however many try at once, and forgets the token then', async () => {
      const stream = aStream({ token: 'a.b.c' });
      await streams.create(stream);
      const claims = await Promise.all(
        Array.from({ length: 20 }, () => streams.claim(stream.stream_id, started(), null)),
      );
      expect(claims.filter(Boolean)).toHaveLength(1);
      expect(await streams.find(stream.stream_id)).toMatchObject({
        state: 'running',
        token: null,
        last_event: 1,
      });
      expect(await streams.read(stream.stream_id, 0)).toEqual([started()]);
    });

    it('makes the stream the property of the one who begins it, or leaves it where it was', async () => {
      const [mine, nobodys] = [aStream({ owner: ada }), aStream({ owner: null })];
      await Promise.all([streams.create(mine), streams.create(nobodys)]);
      await streams.claim(mine.stream_id, started(), null);
      await streams.claim(nobodys.stream_id, started(), bob);
      expect((await streams.find(mine.stream_id))?.owner).toBe(ada);
      expect((await streams.find(nobodys.stream_id))?.owner).toBe(bob);
    });

    it('reads what comes after an event, in order, and refuses what does not follow on', async () => {
      const { stream_id } = await running();
      await streams.append(stream_id, [chunk(2), chunk(3)]);
      await streams.append(stream_id, [chunk(4)]);
      await expect(streams.append(stream_id, [chunk(4)])).rejects.toThrow(/does not follow/);
      await expect(streams.append(stream_id, [chunk(6)])).rejects.toThrow(/does not follow/);
      expect(await streams.read(stream_id, 0)).toEqual([started(), chunk(2), chunk(3), chunk(4)]);
      expect(await streams.read(stream_id, 3)).toEqual([chunk(4)]);
      expect(await streams.read(stream_id, 4)).toEqual([]);
    });

    it('keeps a run for as long as it takes, and its events for their time after the end', async () => {
      const { stream_id } = await running();
      test.advance(10 * TTL);
      await sweepAll();
      expect((await streams.find(stream_id))?.state).toBe('running');
      await streams.append(stream_id, ending(2));
      expect(await streams.find(stream_id)).toMatchObject({ state: 'ended', last_event: 3 });
      await expect(streams.append(stream_id, [chunk(4)])).rejects.toThrow(/does not follow/);
      test.advance(TTL - 1);
      await sweepAll();
      expect(await streams.read(stream_id, 0)).toHaveLength(3);
      test.advance(1);
      expect(await streams.find(stream_id)).toBeNull();
      expect(await sweepAll()).toBe(4);
    });

    it('keeps the key of an answer, and gives back that of a failure', async () => {
      const answered = await running({ idempotency_key: 'answered' });
      const failed = await running({ idempotency_key: 'failed' });
      await streams.append(answered.stream_id, ending(2));
      await streams.append(failed.stream_id, [{ id: 2, event: 'error', data: '{}' }]);
      expect((await streams.findByKey('answered'))?.stream_id).toBe(answered.stream_id);
      expect(await streams.findByKey('failed')).toBeNull();
    });

    it('tells those who watch of events and of a wish to stop, until they look away', async () => {
      const { stream_id } = await running();
      const seen: string[] = [];
      const unwatch = streams.watch(stream_id, (change) => seen.push(change));
      await streams.append(stream_id, [chunk(2)]);
      await streams.askToStop(stream_id);
      expect(seen).toEqual(['events', 'stop']);
      unwatch();
      await streams.append(stream_id, [chunk(3)]);
      expect(seen).toEqual(['events', 'stop']);
    });

    it('ends the runs that were given up, and no others', async () => {
      const [alive, givenUp, ended] = [await running(), await running(), await running()];
      await streams.append(givenUp.stream_id, [chunk(2)]);
      await streams.append(ended.stream_id, ending(2));
      for (const { stream_id } of [givenUp, ended]) await streams.release(stream_id);
      const seen: string[] = [];
      streams.watch(givenUp.stream_id, (change) => seen.push(change));
      expect(await streams.reap(INTERRUPTED)).toBe(1);
      expect(await streams.reap(INTERRUPTED)).toBe(0);
      expect(seen).toEqual(['events']);
      expect(await streams.read(givenUp.stream_id, 1)).toEqual([chunk(2), { ...INTERRUPTED, id: 3 }]);
      expect((await streams.find(givenUp.stream_id))?.state).toBe('ended');
      expect((await streams.find(alive.stream_id))?.state).toBe('running');
      expect(await streams.read(ended.stream_id, 0)).toHaveLength(3);
    });

    async function running(members: Partial<NewStream> = {}): Promise<NewStream> {
      const stream = aStream(members);
      await streams.create(stream);
      expect(await streams.claim(stream.stream_id, started(), null)).toBe(true);
      return stream;
    }

    async function sweepAll(): Promise<number> {
      let all = 0;
      for (let bite = await test.store.sweep(); bite > 0; bite = await test.store.sweep()) all += bite;
      return all;
    }
  });
}

export function aStream(members: Partial<NewStream> = {}): NewStream {
  return {
    stream_id: randomUUID(),
    idempotency_key: null,
    fingerprint: 'body',
    owner: null,
    token: null,
    start: {
      request_id: 'r1',
      session_id: 's1',
      session_is_generated: true,
      message: {
        platform: 'chat',
        user_id: 'u1',
        channel_id: 'u1',
        thread_id: null,
        text: 'Hi',
        metadata: { jwt_token: null },
      },
      address: '192.0.2.1',
      token_given: false,
      trace: [{ at: 1, step: 'identify', verdict: 'ok' }],
    },
    ttl_ms: TTL,
    ...members,
  };
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
