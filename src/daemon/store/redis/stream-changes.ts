import { EventEmitter } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import type { StreamEvent } from '../../../channel/index.ts';
import { randomSuffix } from '../../time/clock.ts';
import type { StreamListener } from '../streams.ts';
import type { RedisKeyspace } from './keyspace.ts';

/**
 * Notifies readers that wait for changes to streams: at once in this process, and by pub/sub in other processes. These
 * hints may be lost. They use a separate connection, which is opened when the first reader waits.
 */
export class StreamChanges {
  /** Identifies this process, so that it ignores its own messages. */
  readonly origin = randomSuffix();
  readonly #redis: RedisKeyspace;
  readonly #listeners = new EventEmitter().setMaxListeners(0);
  #subscriber: Redis | Cluster | null = null;
  #closed = false;

  constructor(redis: RedisKeyspace) {
    this.#redis = redis;
  }

  /** @param events the events that were added. */
  tell(stream_id: string, change: 'events' | 'stop', events?: readonly StreamEvent[]): void {
    if (!this.#closed) this.#listeners.emit(this.#channel(stream_id), change, events);
  }

  subscribe(stream_id: string, listener: StreamListener): () => void {
    const channel = this.#channel(stream_id);
    if (this.#listeners.listenerCount(channel) === 0) this.#hear((client) => client.subscribe(channel));
    this.#listeners.on(channel, listener);
    return () => {
      this.#listeners.off(channel, listener);
      if (this.#listeners.listenerCount(channel) === 0) this.#hear((client) => client.unsubscribe(channel));
    };
  }

  close(): void {
    this.#closed = true;
    this.#subscriber?.disconnect();
  }

  #hear(act: (client: Redis | Cluster) => Promise<unknown>): void {
    if (this.#closed) return;
    this.#subscriber ??= this.#connect();
    // A failure is ignored: without the subscription, readers still read regularly.
    act(this.#subscriber).catch(() => undefined);
  }

  #connect(): Redis | Cluster {
    const client = this.#redis.another();
    client.on('message', (channel: string, message: string) => {
      const [origin, change] = message.split(' ');
      if (origin !== this.origin && !this.#closed) this.#listeners.emit(channel, change);
    });
    // Ignored here: the main connection already reports that the server is unreachable.
    client.on('error', () => undefined);
    return client;
  }

  #channel(stream_id: string): string {
    return this.#redis.names.key('stream', stream_id, 'changes');
  }
}
