import type { TraceRecord } from '../../trace/trace-record.ts';
import { TRACES_FOUND_MAX } from '../bounds.ts';
import type { TraceStore, TraceUser } from '../traces.ts';
import type { RedisConnection } from './connection.ts';

/** Number of entries that one step of a search examines. */
const BITE = 500;

export class RedisTraces implements TraceStore {
  readonly #redis: RedisConnection;
  readonly #max: Readonly<Record<'kept' | 'refused', number>>;

  constructor(redis: RedisConnection, max: Record<'kept' | 'refused', number>) {
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
    return this.#newest(id);
  }

  findOf({ platform = '', user_id }: TraceUser): Promise<TraceRecord[]> {
    return this.#newest(user_id, platform);
  }

  /** Reads both rings in batches. */
  async #newest(id: string, ...platform: string[]): Promise<TraceRecord[]> {
    const found: { at: number; trace: TraceRecord }[] = [];
    for (const ring of ['kept', 'refused'] as const) {
      let after = '';
      do {
        const [next, ...traces] = (await this.#redis.run(
          'find-traces',
          [this.#ring(ring)],
          id,
          after,
          BITE,
          ...platform,
        )) as string[];
        after = next as string;
        for (let place = 0; place < traces.length; place += 2)
          found.push({ at: Number(traces[place]), trace: JSON.parse(traces[place + 1] as string) });
      } while (after !== '');
    }
    return found
      .sort((a, b) => a.at - b.at)
      .slice(-TRACES_FOUND_MAX)
      .map(({ trace }) => trace);
  }

  async #keep(ring: 'kept' | 'refused', trace: TraceRecord): Promise<void> {
    await this.#redis.run('keep-trace', [this.#ring(ring)], ring, this.#max[ring], ...traceFields(trace));
  }

  #ring(ring: string): string {
    return this.#redis.names.key('traces', null, ring);
  }
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
