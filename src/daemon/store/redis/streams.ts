import type { StreamEvent } from '../../../channel/index.ts';
import { randomSuffix } from '../../time/clock.ts';
import type { StreamClaim } from '../claims.ts';
import type { NewStream, StreamClaimant, StreamListener, StreamRecord, StreamStore } from '../streams.ts';
import { Bindings } from './bindings.ts';
import type { RedisKeyspace } from './keyspace.ts';
import type { StreamChanges } from './stream-changes.ts';

/**
 * Text of a run is appended at most ten times a second, because a command for each word would cost more than everything
 * else.
 */
const GATHER_MS = 100;
/** Maximum number of streams that one step ends. */
const REAP_BITE = 100;

export class RedisStreams implements StreamStore {
  readonly hintsMayBeLost = true;
  readonly gather_ms = GATHER_MS;
  readonly #redis: RedisKeyspace;
  readonly #changes: StreamChanges;
  readonly #bindings: Bindings;

  constructor(redis: RedisKeyspace, changes: StreamChanges) {
    this.#redis = redis;
    this.#changes = changes;
    this.#bindings = new Bindings(redis, 'stream');
  }

  async create(stream: NewStream): Promise<StreamRecord> {
    const { stream_id, idempotency_key, owner, token, ttl_ms, ...rest } = stream;
    const doc = JSON.stringify({ stream_id, ttl_ms, ...rest });
    if (this.#redis.isSharded && idempotency_key !== null) {
      const look = (shard: RedisKeyspace) => this.#byKey(shard, idempotency_key);
      const elsewhere = await this.#bindings.bind(idempotency_key, stream_id, look);
      if (elsewhere) return elsewhere;
    }
    const fields = await this.#run(
      'create-stream',
      stream_id,
      ...[ttl_ms, doc, idempotency_key ?? '', owner ?? '', token ?? ''],
    );
    return streamOf(fields as string[]);
  }

  async find(stream_id: string): Promise<StreamRecord | null> {
    const found = await this.#redis.run('find-stream', [this.#key(stream_id)], 'id', stream_id);
    return found === null ? null : streamOf(found as string[]);
  }

  async findByKey(idempotency_key: string): Promise<StreamRecord | null> {
    const shard = this.#redis.isSharded ? await this.#bindings.find(idempotency_key) : this.#redis;
    return shard && this.#byKey(shard, idempotency_key);
  }

  async #byKey(shard: RedisKeyspace, idempotency_key: string): Promise<StreamRecord | null> {
    const pointer = shard.names.key('stream-key', idempotency_key, 'stream');
    const found = await shard.run('find-stream', [pointer], 'key', idempotency_key);
    return found === null ? null : streamOf(found as string[]);
  }

  async claim(
    stream_id: string,
    { owner: person, reader }: StreamClaimant,
    first: readonly StreamEvent[] = [],
  ): Promise<StreamClaim | null> {
    const owner = randomSuffix();
    const args = [owner, person ?? '', reader ?? '', this.#changes.origin, ...storedEvents(first).list];
    const claimed = await this.#run('claim-stream', stream_id, ...args);
    if (claimed !== 1) return null;
    if (first.length > 0) this.#changes.tell(stream_id, 'events', first);
    return { stream_id, owner };
  }

  async renew({ stream_id, owner }: StreamClaim): Promise<boolean> {
    return (await this.#run('renew-stream', stream_id, owner)) === 1;
  }

  async append({ stream_id, owner }: StreamClaim, events: readonly StreamEvent[]): Promise<boolean> {
    const { first, ending, list } = storedEvents(events);
    const args = [owner, first, ending ?? '', this.#changes.origin, ...list];
    const outcome = await this.#run('append-events', stream_id, ...args);
    if (outcome === 'gap') throw eventGap();
    if (outcome === 'added' && events.length > 0) this.#changes.tell(stream_id, 'events', events);
    return outcome === 'added';
  }

  async read(stream_id: string, after: number): Promise<StreamEvent[] | null> {
    const found = (await this.#run('read-events', stream_id, after)) as string[] | null;
    return found?.map((event) => JSON.parse(event)) ?? null;
  }

  subscribe(stream_id: string, listener: StreamListener): () => void {
    return this.#changes.subscribe(stream_id, listener);
  }

  async requestStop(stream_id: string): Promise<void> {
    const stopped = await this.#run('stop-stream', stream_id, this.#changes.origin);
    if (stopped === 1) this.#changes.tell(stream_id, 'stop');
  }

  async release({ stream_id, owner }: StreamClaim): Promise<void> {
    await this.#run('release-stream', stream_id, owner);
  }

  async reap(last: Omit<StreamEvent, 'id'>): Promise<number> {
    const reaped = await Promise.all(this.#redis.shards.map((shard) => this.#reap(shard, last)));
    return reaped.reduce((sum, some) => sum + some, 0);
  }

  async #reap(shard: RedisKeyspace, last: Omit<StreamEvent, 'id'>): Promise<number> {
    const running = shard.names.key('streams', null, 'running');
    let reaped = 0;
    for (;;) {
      const args = [last.event, last.data, this.#changes.origin, REAP_BITE];
      const ended = (await shard.run('reap-streams', [running], ...args)) as (string | number)[];
      for (let place = 0; place < ended.length; place += 2)
        this.#changes.tell(ended[place] as string, 'events', [{ ...last, id: ended[place + 1] as number }]);
      reaped += ended.length / 2;
      if (ended.length < 2 * REAP_BITE) return reaped;
    }
  }

  #run(script: string, stream_id: string, ...args: (string | number)[]) {
    return this.#redis.run(script, [this.#key(stream_id)], stream_id, ...args);
  }

  #key(stream_id: string): string {
    return this.#redis.names.key('stream', stream_id, 'state');
  }
}

/** Events in the form that scripts expect. @throws if their numbers are not consecutive. */
export function storedEvents(events: readonly StreamEvent[]): {
  first: number;
  ending: string | null;
  list: string[];
} {
  const [first] = events;
  events.forEach(({ id }, place) => {
    if (first && id !== first.id + place) throw eventGap();
  });
  const last = events.at(-1)?.event;
  return {
    first: first?.id ?? 0,
    ending: last === 'stream_complete' || last === 'error' ? last : null,
    list: events.map((event) => JSON.stringify(event)),
  };
}

export function eventGap(): Error {
  return new Error('an event does not follow the last event of its stream, or the stream is not running');
}

function streamOf(fields: readonly (string | null)[]): StreamRecord {
  const [doc, idempotency_key, owner, token, reader, state, stop, last] = fields;
  return {
    ...JSON.parse(doc as string),
    ...{ idempotency_key, owner, token, reader, state },
    stop_requested: stop === '1',
    last_event: Number(last),
  };
}
