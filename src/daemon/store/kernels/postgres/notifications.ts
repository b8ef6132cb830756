import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Log } from '../../../process/log.ts';
import { randomSuffix } from '../../../time/clock.ts';
import type { Listener } from '../kernel.ts';

const CONNECT_MS = 2_000;
/** How soon a connection is checked that nothing arrives on, ms. */
const KEEP_ALIVE_MS = 10_000;
const RECONNECT_MIN_MS = 100;
const RECONNECT_MAX_MS = 5_000;

/**
 * Hints between the processes that share the database (LISTEN and NOTIFY). A hint names a channel and what happened;
 * only this process gets the data with it. Hints are lost while the connection is down.
 */
export class Notifications {
  readonly #url: string;
  readonly #log: Pick<Log, 'debug'>;
  readonly #listeners = new EventEmitter().setMaxListeners(0);
  /** Marks the hints of this process, which it has already heard. */
  readonly #origin = randomSuffix();
  readonly #closing = new AbortController();
  /** Resolves when no connection is open any more; null before the first listener. */
  #listening: Promise<void> | null = null;

  constructor(url: string, log: Pick<Log, 'debug'>) {
    this.#url = url;
    this.#log = log;
  }

  /** Calls the listeners of this process. */
  tell(channel: string, heard: readonly unknown[]): void {
    if (!this.#closing.signal.aborted) this.#listeners.emit(toEventName(channel), ...heard);
  }

  /** The text of NOTIFY for the other processes. */
  hint(channel: string, change: unknown): string {
    return JSON.stringify([this.#origin, channel, change]);
  }

  /** Notes that hints for the other processes could not be sent. */
  noteLost(err: unknown): void {
    this.#log.debug({ err }, 'hints for other daemons could not be sent');
  }

  watch(channel: string, hear: Listener): () => void {
    this.#listeners.on(toEventName(channel), hear);
    this.#listening ??= this.#listen();
    return () => void this.#listeners.off(toEventName(channel), hear);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#listening;
  }

  async #listen(): Promise<void> {
    const { signal } = this.#closing;
    for (let wait = RECONNECT_MIN_MS; !signal.aborted; wait = Math.min(2 * wait, RECONNECT_MAX_MS)) {
      try {
        await this.#listenOnce(() => {
          wait = RECONNECT_MIN_MS;
        });
      } catch (err) {
        this.#log.debug({ err }, 'hints of other daemons are not heard: Postgres cannot be reached');
      }
      await delay(wait, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Resolves when the connection has ended, or the kernel was closed. */
  async #listenOnce(onListening: () => void): Promise<void> {
    const { signal } = this.#closing;
    const client = new Client({
      connectionString: this.#url,
      application_name: 'agentd',
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    });
    const ended = Promise.withResolvers<void>();
    client.on('error', (err) => {
      this.#log.debug({ err }, 'the connection for hints was lost');
      ended.resolve();
    });
    client.on('end', ended.resolve);
    client.on('notification', ({ payload }) => this.#hear(payload));
    const stop = () => ended.resolve();
    signal.addEventListener('abort', stop);
    try {
      await client.connect();
      const { rows } = await client.query<{ channel: string }>('SELECT agentd_channel() AS channel');
      await client.query(`LISTEN ${client.escapeIdentifier(rows[0]?.channel ?? '')}`);
      onListening();
      if (!signal.aborted) await ended.promise;
    } finally {
      signal.removeEventListener('abort', stop);
      await client
        .end()
        .catch((err: unknown) => this.#log.debug({ err }, 'a connection did not end cleanly'));
    }
  }

  /** Anybody who may use the database can send anything. */
  #hear(payload = ''): void {
    let hint: unknown;
    try {
      hint = JSON.parse(payload);
    } catch (err) {
      this.#log.debug({ err }, 'a hint that no daemon has sent was ignored');
      return;
    }
    if (!Array.isArray(hint)) return;
    const [origin, channel, ...heard] = hint as unknown[];
    if (origin !== this.#origin && typeof channel === 'string') this.tell(channel, heard);
  }
}

/** The name of the event for a channel. It is never that of an event which EventEmitter treats in its own way. */
function toEventName(channel: string): string {
  return `told ${channel}`;
}
