import { clientTag } from '../../session/client-tag.ts';
import { tagOf } from '../../session/session.ts';
import { clientOfKey } from '../client-of-key.ts';
import { ANONYMOUS_ANSWER_MS } from '../idempotency.ts';
import type { MemoryContext } from './context.ts';

/** Approximate size of a record without its content, bytes. */
const OVERHEAD_BYTES = 500;

/** Something that an anonymous client has stored. */
interface Holding {
  client: string;
  bytes: number;
  idle_since: number;
  drop(): void;
}

/**
 * Deletes what anonymous clients have stored beyond the limit (ANONYMOUS_STORE_BYTES): the longest idle of the client
 * that holds most first.
 */
export function boundAnonymous(context: MemoryContext): void {
  const { anonymousMax } = context.bounds;
  if (anonymousMax === Number.POSITIVE_INFINITY) return;
  const held = Map.groupBy(holdings(context), ({ client }) => client);
  for (const some of held.values()) some.sort((a, b) => b.idle_since - a.idle_since);
  const sizeOf = (some: readonly Holding[]) => some.reduce((sum, { bytes }) => sum + bytes, 0);
  let total = sizeOf([...held.values()].flat());
  while (total > anonymousMax) {
    const [largest] = [...held.values()].sort((a, b) => sizeOf(b) - sizeOf(a));
    const oldest = largest?.pop();
    if (oldest === undefined) return;
    oldest.drop();
    total -= oldest.bytes;
  }
}

function holdings({ state, claims }: MemoryContext): Holding[] {
  const sessions = [...state.sessions.values()].flatMap((stored): Holding[] => {
    const { session, turns } = stored;
    const { client, owner, last_active_at: idle_since } = session;
    if (client === undefined || owner !== null) return [];
    const traces = state.traces.filter(({ trace }) => turns.some((turn) => turn.turn_id === trace.turn_id));
    const drop = () => {
      state.sessions.delete(tagOf(session));
      for (const trace of traces) state.traces.splice(state.traces.indexOf(trace), 1);
    };
    return [{ client, bytes: bytesOf([stored, traces]), idle_since, drop }];
  });
  const answers = [...state.answers].flatMap(([key, stored]): Holding[] => {
    const client = clientOfKey(key);
    if (client === null) return [];
    const idle_since = stored.expires_at - ANONYMOUS_ANSWER_MS;
    return [{ client, bytes: bytesOf([key, stored]), idle_since, drop: () => state.answers.delete(key) }];
  });
  const streams = [...state.streams].flatMap(([id, stored]): Holding[] => {
    const { record, expires_at } = stored;
    if (record.owner !== null || record.start.address === null || expires_at === null) return [];
    const drop = () => {
      state.streams.delete(id);
      claims.streams.end(id);
    };
    const client = clientTag(record.start.address);
    return [{ client, bytes: bytesOf(stored), idle_since: expires_at - record.ttl_ms, drop }];
  });
  const traces = state.refused.flatMap((stored): Holding[] => {
    const { client, kept_at: idle_since } = stored;
    if (client === null) return [];
    const drop = () => state.refused.splice(state.refused.indexOf(stored), 1);
    return [{ client, bytes: bytesOf(stored), idle_since, drop }];
  });
  return [...sessions, ...answers, ...streams, ...traces];
}

function bytesOf(value: unknown): number {
  return OVERHEAD_BYTES + Buffer.byteLength(JSON.stringify(value));
}
