import { EventEmitter } from 'node:events';
import type { Cluster, Redis } from 'ioredis';
import { randomSuffix } from '../../../time/clock.ts';
import type { Listener } from '../kernel.ts';
import type { RedisConnection } from './connection.ts';
import { channelKey } from './keys.ts';

/**
 * Notifies those that wait for changes: at once in this process, and by pub/sub in other processes. These hints may be
 * lost. They use a separate connection, which is opened when the first listener waits.
 */
export class Changes {
  /** Marks the hints of this process, which it has already heard. */
  readonly #origin = randomSuffix();
  readonly #connection: RedisConnection;
  readonly #listeners = new EventEmitter().setMaxListeners(0);
  #subscriber: Redis | Cluster | null = null;
  #closed = false;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  /** Calls the listeners of this process. */
  tell(channel: string, heard: readonly unknown[]): void {
    if (!this.#closed) this.#listeners.emit(channelKey(channel), ...heard);
  }

  /** The message for the other processes. */
  hint(change: unknown): string {
    return JSON.stringify([this.#origin, change]);
  }

  watch(channel: string, hear: Listener): () => void {
    const name = channelKey(channel);
    if (this.#listeners.listenerCount(name) === 0) this.#subscribe((client) => client.subscribe(name));
    this.#listeners.on(name, hear);
    return () => {
      this.#listeners.off(name, hear);
      if (this.#listeners.listenerCount(name) === 0) this.#subscribe((client) => client.unsubscribe(name));
    };
  }

  close(): void {
    this.#closed = true;
    this.#subscriber?.disconnect();
  }

  #subscribe(act: (client: Redis | Cluster) => Promise<unknown>): void {
    if (this.#closed) return;
    this.#subscriber ??= this.#connect();
    // A failure is ignored: without the subscription, whoever waits still reads regularly.
    act(this.#subscriber).catch(() => undefined);
  }

  #connect(): Redis | Cluster {
    const client = this.#connection.another();
    client.on('message', (name: string, message: string) => this.#hear(name, message));
    // Ignored here: the main connection already reports that the server is unreachable.
    client.on('error', () => undefined);
    return client;
  }

  /** Anybody who may use the server can send anything. */
  #hear(name: string, message: string): void {
    let hint: unknown;
    try {
      hint = JSON.parse(message);
    } catch {
      return;
    }
    if (!Array.isArray(hint) || this.#closed) return;
    const [origin, ...heard] = hint as unknown[];
    if (origin !== this.#origin) this.#listeners.emit(name, ...heard);
  }
}
