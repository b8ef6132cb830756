import type { TraceRecord } from '../../trace/trace-record.ts';
import { TRACES_FOUND_MAX } from '../bounds.ts';
import type { TraceStore, TraceUser } from '../traces.ts';
import type { RedisKeyspace } from './keyspace.ts';

/** Number of entries that one step of a search examines. */
const BITE = 500;

/** An id that traces have, or the id of a user and the channel (empty for all channels). */
type Wanted = readonly [id: string] | readonly [user_id: string, platform: string];

export class RedisTraces implements TraceStore {
  readonly #redis: RedisKeyspace;
  readonly #max: Readonly<Record<'kept' | 'refused', number>>;

  constructor(redis: RedisKeyspace, max: Record<'kept' | 'refused', number>) {
    this.#redis = redis;
    this.#max = max;
  }

  keep(trace: TraceRecord): Promise<void> {
    return this.#keep('kept', trace);
  }

  keepRefused(trace: TraceRecord): Promise<void> {
    return this.#keep('refused', trace);
  }

  find(id: string): Promise<TraceRecord[]> {
    return this.#newest([id]);
  }

  findOf({ platform = '', user_id }: TraceUser): Promise<TraceRecord[]> {
    return this.#newest([user_id, platform]);
  }

  /** Reads all rings in batches. */
  async #newest(wanted: Wanted): Promise<TraceRecord[]> {
    const rings = traceRings(this.#redis).map(({ key }) => this.#findIn(key, wanted));
    return (await Promise.all(rings))
      .flat()
      .sort((a, b) => a.at - b.at)
      .slice(-TRACES_FOUND_MAX)
      .map(({ trace }) => trace);
  }

  async #findIn(ring: string, [id, ...platform]: Wanted): Promise<{ at: number; trace: TraceRecord }[]> {
    const found: { at: number; trace: TraceRecord }[] = [];
    let after = '';
    do {
      const args = [id, after, BITE, ...platform];
      const [next, ...traces] = (await this.#redis.run('find-traces', [ring], ...args)) as string[];
      after = next as string;
      for (let place = 0; place < traces.length; place += 2)
        found.push({ at: Number(traces[place]), trace: JSON.parse(traces[place + 1] as string) });
    } while (after !== '');
    return found;
  }

  async #keep(ring: 'kept' | 'refused', trace: TraceRecord): Promise<void> {
    await this.#redis.run('keep-trace', [this.#ring(ring)], ring, this.#max[ring], ...traceFields(trace));
  }

  #ring(ring: string): string {
    return this.#redis.names.key('traces', null, ring);
  }
}

/**
 * The rings of traces. In a Cluster, each shard has a ring for the traces that are stored with a turn; traces that are
 * stored without a turn are in common rings.
 */
export function traceRings(redis: RedisKeyspace): { name: 'kept' | 'refused'; key: string }[] {
  const ring = (of: RedisKeyspace, name: 'kept' | 'refused') => ({
    name,
    key: of.names.key('traces', null, name),
  });
  const ofShards = redis.isSharded ? redis.shards.map((shard) => ring(shard, 'kept')) : [];
  return [ring(redis, 'kept'), ...ofShards, ring(redis, 'refused')];
}

/** Fields and values of an entry: the ids that a trace is found by, then the trace. */
export function traceFields(trace: TraceRecord): string[] {
  const { turn_id, request_id, session_id, message_id, platform } = trace;
  return [
    ...['turn', turn_id, 'request', request_id],
    ...(session_id === null ? [] : ['session', session_id]),
    ...(message_id === null ? [] : ['message', message_id]),
    ...['platform', platform, 'trace', JSON.stringify(trace)],
  ];
}
