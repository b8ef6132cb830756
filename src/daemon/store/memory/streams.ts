import type { StreamEvent } from '../../../channel/index.ts';
import type { StreamClaim } from '../claims.ts';
import type { StreamStore } from '../streams.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';
import type { StoredStream } from './state.ts';

export function streamSteps(
  context: MemoryContext,
): Steps<Omit<StreamStore, 'subscribe' | 'hintsMayBeLost' | 'gather_ms'>> {
  const { state, clock } = context;
  const claims = context.claims.streams;
  const isAlive = ({ expires_at }: StoredStream) => expires_at === null || expires_at > clock.now();
  const find = (stream_id: string) => {
    const stored = state.streams.get(stream_id);
    return stored && isAlive(stored) ? stored : null;
  };
  const findByKey = (key: string) =>
    [...state.streams.values()].find((stored) => stored.record.idempotency_key === key && isAlive(stored));
  return {
    create(stream) {
      const same = stream.idempotency_key === null ? null : findByKey(stream.idempotency_key);
      if (same) return same.record;
      const record = {
        ...stream,
        reader: null,
        state: 'waiting' as const,
        stop_requested: false,
        last_event: 0,
      };
      state.streams.set(stream.stream_id, { record, events: [], expires_at: clock.now() + stream.ttl_ms });
      return record;
    },
    find: (stream_id) => find(stream_id)?.record ?? null,
    findByKey: (key) => findByKey(key)?.record ?? null,
    claim(stream_id, { owner: person, reader }, first = []) {
      const stored = find(stream_id);
      if (stored?.record.state !== 'waiting') return null;
      const owner = claims.take(stream_id);
      if (owner === null) throw new Error('a waiting stream has been claimed');
      stored.record = {
        ...stored.record,
        state: 'running',
        token: null,
        owner: person ?? stored.record.owner,
        reader,
      };
      stored.expires_at = null;
      const claim = { stream_id, owner };
      appendEvents(context, claim, first);
      return claim;
    },
    renew: ({ stream_id, owner }) => claims.renew(stream_id, owner),
    append(claim, events) {
      if (!claims.isHeld(claim.stream_id, claim.owner)) return false;
      appendEvents(context, claim, events);
      return true;
    },
    read: (stream_id, after) => find(stream_id)?.events.filter(({ id }) => id > after) ?? null,
    requestStop(stream_id) {
      const stored = find(stream_id);
      if (stored?.record.state !== 'running' || !claims.exists(stream_id)) return;
      stored.record.stop_requested = true;
      state.changes.emit(stream_id, 'stop');
    },
    release({ stream_id, owner }) {
      const stored = find(stream_id);
      if (stored && claims.isHeld(stream_id, owner)) stored.record.stop_requested = false;
      claims.release(stream_id, owner);
    },
    reap(last) {
      const dead = [...state.streams.values()].filter(
        ({ record }) => record.state === 'running' && !claims.isValid(record.stream_id),
      );
      for (const { record } of dead) appendEvents(context, record, [{ ...last, id: record.last_event + 1 }]);
      return dead.length;
    },
  };
}

/**
 * Adds events to a running stream. The caller has checked that the claim is held.
 * @throws if the events do not follow the last event of the stream.
 */
export function appendEvents(
  context: MemoryContext,
  { stream_id }: Pick<StreamClaim, 'stream_id'>,
  events: readonly StreamEvent[],
): void {
  const { state, claims, clock } = context;
  const stored = expectNext(context, stream_id, events);
  const last = events.at(-1);
  if (last === undefined) return;
  stored.events.push(...events);
  stored.record.last_event = last.id;
  if (last.event === 'stream_complete' || last.event === 'error') {
    stored.record.state = 'ended';
    stored.record.stop_requested = false;
    // After a failure, the client can send the message again with the same key.
    if (last.event === 'error') stored.record.idempotency_key = null;
    stored.expires_at = clock.now() + stored.record.ttl_ms;
    claims.streams.end(stream_id);
  }
  state.changes.emit(stream_id, 'events', structuredClone(events));
}

/** @throws if the events do not follow the last event of a running stream. */
export function expectNext(
  { state }: MemoryContext,
  stream_id: string,
  events: readonly StreamEvent[],
): StoredStream {
  const stored = state.streams.get(stream_id);
  if (stored?.record.state !== 'running') throw new Error('events are added to a stream that is not running');
  events.forEach(({ id }, index) => {
    if (id !== stored.record.last_event + 1 + index)
      throw new Error(`event ${id} does not follow the last event of its stream`);
  });
  return stored;
}
