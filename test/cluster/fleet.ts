import { createHmac } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgresStore } from '../../src/daemon/store/kernels/postgres/store.ts';
import { openRedisStore } from '../../src/daemon/store/kernels/redis/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { FakeExchange } from '../support/fake-exchange.ts';
import { freePorts } from '../support/free-ports.ts';

const SECRET = 'what the exchange signs with';
const DAY = 24 * 60 * 60 * 1000;

export interface FleetOptions {
  /** The value of REDIS_URL, or of DATABASE_URL if it begins with `postgres:`. */
  url: string;
  replicas: number;
  env?: Record<string, string>;
}

/** Several daemons on one Redis or Postgres, with a platform that signs its deliveries. */
export class Fleet {
  readonly exchange: FakeExchange;
  /** Reads the data that the daemons have stored. */
  readonly store: Store;
  readonly #directory: string;
  readonly #env: Record<string, string>;
  readonly #ports: readonly number[];
  readonly #replicas: Agentd[] = [];

  private constructor(
    exchange: FakeExchange,
    store: Store,
    directory: string,
    env: Record<string, string>,
    ports: readonly number[],
  ) {
    this.exchange = exchange;
    this.store = store;
    this.#directory = directory;
    this.#env = env;
    this.#ports = ports;
  }

  static async start({ url, replicas, env = {} }: FleetOptions): Promise<Fleet> {
    const directory = mkdtempSync(join(tmpdir(), 'agentd-fleet-'));
    const exchange = await FakeExchange.start();
    const isPostgres = url.startsWith('postgres:');
    const store = isPostgres
      ? await openPostgresStore({ url, log: { debug() {} } })
      : await openRedisStore({ url, traceRetentionMs: 7 * DAY });
    const all = {
      ...exchange.env(directory),
      MESSAGING_PLATFORMS: `sse,webchat,${join(directory, 'telex.ts')}`,
      TELEX_SECRET: SECRET,
      ...(isPostgres ? { SESSION_BACKEND: 'postgres', DATABASE_URL: url } : { REDIS_URL: url }),
      TOKEN_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      ADMIN_LISTEN: '127.0.0.1:0',
      SHUTDOWN_DELAY_SECONDS: '1',
      SHUTDOWN_GRACE_SECONDS: '10',
      LOG_LEVEL: 'warn',
      ...env,
    };
    const fleet = new Fleet(exchange, store, directory, all, await freePorts(replicas));
    await Promise.all(Array.from({ length: replicas }, (_, place) => fleet.startReplica(place)));
    return fleet;
  }

  /** The addresses of the replicas, whether they run or not. */
  get urls(): string[] {
    return this.#ports.map((port) => `http://127.0.0.1:${port}`);
  }

  get replicas(): readonly Agentd[] {
    return this.#replicas;
  }

  /** The address of a replica. Consecutive numbers choose the replicas in turn. */
  url(turn: number): string {
    return this.urls[turn % this.#ports.length] as string;
  }

  /** Starts a replica on its port, for the first time or again. */
  async startReplica(place: number): Promise<Agentd> {
    const directory = join(this.#directory, String(place));
    mkdirSync(directory, { recursive: true });
    const env = { ...this.#env, PORT: String(this.#ports[place]), STATE_DIR: join(directory, 'state') };
    const replica = await startAgentd({ directory, env });
    this.#replicas[place] = replica;
    return replica;
  }

  async kill(place: number): Promise<void> {
    const replica = this.#replicas[place];
    replica?.signal('SIGKILL');
    await replica?.exited;
  }

  /** Delivers a message as the platform does. @returns the status, null if the connection broke. */
  async deliver(url: string, thread: string, text: string): Promise<number | null> {
    const body = JSON.stringify({ messages: [{ id: `${thread}/${text}`, user: thread, thread, text }] });
    const signature = createHmac('sha256', SECRET).update(body).digest('hex');
    const headers = { 'Content-Type': 'application/json', 'X-Telex-Signature': signature };
    const answer = await fetch(`${url}/telex`, { method: 'POST', body, headers }).catch(() => null);
    await answer?.arrayBuffer().catch(() => undefined);
    return answer?.status ?? null;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.stop('SIGKILL')));
    await this.store.close();
    await this.exchange.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
