import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Log } from '../../../process/log.ts';
import { Hints } from '../hints.ts';
import type { Listener } from '../kernel.ts';

const CONNECT_MS = 2_000;
/** How soon a connection is checked that nothing arrives on, ms. */
const KEEP_ALIVE_MS = 10_000;
const RECONNECT_MIN_MS = 100;
const RECONNECT_MAX_MS = 5_000;

/** Hints by LISTEN and NOTIFY. They are lost while the connection is down. */
export class Notifications extends Hints {
  readonly #url: string;
  readonly #log: Pick<Log, 'debug'>;
  readonly #closing = new AbortController();
  /** Resolves when no connection is open any more; null before the first listener. */
  #listening: Promise<void> | null = null;

  constructor(url: string, log: Pick<Log, 'debug'>) {
    super();
    this.#url = url;
    this.#log = log;
  }

  /** Notes that hints for the other processes could not be sent. */
  noteLost(err: unknown): void {
    this.#log.debug({ err }, 'hints for other daemons could not be sent');
  }

  override watch(channel: string, hear: Listener): () => void {
    this.#listening ??= this.#listen();
    return super.watch(channel, hear);
  }

  override async close(): Promise<void> {
    super.close();
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
    client.on('notification', ({ payload = '' }) => this.hear(payload));
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
}
