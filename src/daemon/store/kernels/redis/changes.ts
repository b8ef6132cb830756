import type { Cluster, Redis } from 'ioredis';
import { Hints } from '../hints.ts';
import type { Listener } from '../kernel.ts';
import type { RedisConnection } from './connection.ts';
import { channelKey } from './keys.ts';

/** Hints by pub/sub. They use a separate connection, which is opened when the first listener waits. */
export class Changes extends Hints {
  readonly #connection: RedisConnection;
  #subscriber: Redis | Cluster | null = null;

  constructor(connection: RedisConnection) {
    super();
    this.#connection = connection;
  }

  override watch(channel: string, hear: Listener): () => void {
    const name = channelKey(channel);
    if (!this.isWatched(channel)) this.#subscribe((client) => client.subscribe(name));
    const end = super.watch(channel, hear);
    return () => {
      end();
      if (!this.isWatched(channel)) this.#subscribe((client) => client.unsubscribe(name));
    };
  }

  override close(): void {
    super.close();
    this.#subscriber?.disconnect();
  }

  #subscribe(act: (client: Redis | Cluster) => Promise<unknown>): void {
    if (this.isClosed) return;
    this.#subscriber ??= this.#connect();
    // A failure is ignored: without the subscription, whoever waits still reads regularly.
    act(this.#subscriber).catch(() => undefined);
  }

  #connect(): Redis | Cluster {
    const client = this.#connection.another();
    client.on('message', (_name: string, message: string) => this.hear(message));
    // Ignored here: the main connection already reports that the server is unreachable.
    client.on('error', () => undefined);
    return client;
  }
}
