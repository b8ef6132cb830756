import { type Hits, hitsOf, listHits } from '../../guard/hits.ts';
import { randomSuffix } from '../../time/clock.ts';
import { hitWindow } from '../hit-window.ts';
import type { LimitStore, WindowState } from '../limits.ts';
import { Batch } from './batch.ts';
import type { RedisKeyspace } from './keyspace.ts';
import { untilWritten } from './until-written.ts';

/** Maximum number of hits that a batch counts. */
const BATCH_MAX = 200;

interface Hit {
  key: string;
  limit: { max: number; window_ms: number };
}

/** A window of hits as it is read and written. `read` is the version that was read. */
interface Window {
  read: string;
  hits: Hits | null;
  expires_at: number;
}

export class RedisLimits implements LimitStore {
  readonly #redis: RedisKeyspace;
  /** One batch for each shard, because one script counts all hits of a batch. */
  readonly #batches: ReadonlyMap<RedisKeyspace, Batch<Hit, WindowState>>;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
    const batch = () =>
      new Batch<Hit, WindowState>(BATCH_MAX, (hits) => untilWritten(() => this.#count(hits)));
    this.#batches = new Map(redis.shards.map((shard) => [shard, batch()]));
  }

  hit(key: string, limit: Hit['limit']): Promise<WindowState> {
    const batch = this.#batches.get(this.#redis.at(key)) as Batch<Hit, WindowState>;
    return batch.ask({ key, limit });
  }

  /** Null if another process counted in the meantime. Nothing is written in that case. */
  async #count(hits: readonly Hit[]): Promise<WindowState[] | null> {
    const keys = [...new Set(hits.map(({ key }) => this.#redis.names.key('limit', key, 'hits')))];
    const [now, ...found] = (await this.#redis.run('read-versions', keys)) as [number, ...(string | null)[]];
    const windows = new Map<string, Window>(
      keys.map((key, place) => {
        const [version, value] = found.slice(2 * place);
        const stored = value == null ? null : hitsOf(JSON.parse(value).map(hitOf));
        return [key, { read: version ?? '', hits: stored, expires_at: 0 }];
      }),
    );
    const states = hits.map(({ key, limit }) => {
      const window = windows.get(this.#redis.names.key('limit', key, 'hits')) as Window;
      const { state, hits: after, expires_at } = hitWindow(window.hits, limit, now);
      window.hits = after;
      window.expires_at = expires_at;
      return state;
    });
    const writes = [...windows.values()].flatMap(({ read, hits: after, expires_at }) => {
      const value = JSON.stringify(
        after ? listHits(after).map(({ at, counted_at }) => [at, counted_at]) : [],
      );
      return [read, randomSuffix(), value, expires_at];
    });
    return (await this.#redis.run('compare-and-set', keys, ...writes)) === 1 ? states : null;
  }
}

function hitOf([at, counted_at]: [number, number]): { at: number; counted_at: number } {
  return { at, counted_at };
}
