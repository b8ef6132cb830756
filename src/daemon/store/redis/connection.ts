import { Cluster, Redis } from 'ioredis';
import { AgentdError, StoreUnavailable } from '../../errors.ts';
import type { Node, RedisAddress } from '../../settings/redis-url.ts';
import { type Durability, durabilityOf, JOURNAL, MUST_LAST } from './durability.ts';
import { KeyNames } from './key-names.ts';
import { readScripts, type Script } from './scripts.ts';
import { hasWaitAof, type ServerFacts } from './server.ts';

/** How long a command may take, ms. After that, the store counts as out of reach. */
const COMMAND_MS = 5000;
/** How long connecting may take, ms. */
const CONNECT_MS = 5000;
/** The longest pause between two attempts to connect, ms. */
const RECONNECT_MAX_MS = 1000;
/** Number of keys that one step of `SCAN` examines. */
const SCAN_COUNT = 1000;

/** The result of a script: text, numbers, lists, or null. */
export type Reply = string | number | null | Reply[];

export interface ConnectionOptions {
  /** Numbers that scripts can use under these names. */
  constants: Readonly<Record<string, number>>;
  /** The time of the store in tests. If absent, the server's time is used. */
  now?: () => number;
}

/** One connection to Redis, or to all nodes of a Cluster. It reconnects by itself. Until then, every call rejects. */
export class RedisConnection {
  readonly names: KeyNames;
  readonly client: Redis | Cluster;
  readonly #scripts: ReadonlyMap<string, Script>;
  readonly #now: (() => number) | undefined;
  /** The hosts for people, without credentials. */
  readonly place: string;
  readonly #address: RedisAddress;
  #durability: Durability | null = null;
  /** Scripts that resolve when their writes are durable. */
  #lasting: ReadonlySet<string> = new Set();
  #failure: string | null = null;
  #closed = false;

  constructor(address: RedisAddress, { constants, now }: ConnectionOptions) {
    this.names = new KeyNames(address.kind === 'cluster' ? 'agentd' : null);
    this.#scripts = readScripts(constants);
    this.#now = now;
    this.#address = address;
    this.place = placeOf(address);
    this.client = clientOf(address);
    this.#keepConnecting(this.client);
    this.client.on('error', (error: Error) => {
      this.#failure = error.message;
    });
    this.client.on('ready', () => {
      this.#failure = null;
    });
  }

  /** Why the last attempt to reach the server failed; null if it can be reached. */
  get failure(): string | null {
    return this.#failure;
  }

  /** @throws StoreUnavailable */
  async connect(): Promise<void> {
    try {
      await this.client.connect();
      await Promise.all(this.nodes.map((node) => this.#load(node)));
    } catch (error) {
      this.close();
      throw new StoreUnavailable(error);
    }
  }

  /**
   * Runs a named script. The command is sent only once: if the connection breaks in the meantime, the call rejects, and
   * it is not known whether the script ran.
   * @param keys the first one decides which node runs the script.
   */
  run(name: string, keys: readonly string[], ...args: (string | number)[]): Promise<Reply> {
    const script = this.#scripts.get(name);
    if (!script) throw new Error(`there is no script ${name}.lua`);
    const given = [...keys, this.names.tag ?? '', this.#now?.() ?? '', ...args];
    return this.send(async () => {
      const reply = await this.#runScript(script, keys.length, given);
      if (this.#lasting.has(name)) await this.#durability?.written();
      return reply;
    });
  }

  /**
   * From now on, scripts of the journal resolve when their writes are on disk, if the server can report this.
   * @param isAlways whether all scripts that lead to an acknowledgment wait, too, for the disk and for a replica.
   */
  awaitDurability(server: ServerFacts, isAlways: boolean): void {
    if (!isAlways && !hasWaitAof(server)) return;
    this.#durability = durabilityOf(this.client, isAlways ? server : { ...server, replicas: 0 });
    this.#lasting = isAlways ? new Set([...MUST_LAST, ...JOURNAL]) : JOURNAL;
  }

  async #runScript({ sha, text }: Script, keys: number, given: (string | number)[]): Promise<Reply> {
    try {
      return (await this.client.evalsha(sha, keys, ...given)) as Reply;
    } catch (error) {
      if (!isNoScript(error)) throw error;
      return (await this.client.eval(text, keys, ...given)) as Reply;
    }
  }

  /** Runs commands. @throws StoreUnavailable if the server is out of reach, or does not answer in time. */
  async send<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreUnavailable(new Error('the store is closed'));
    try {
      const done = await work();
      this.#failure = null;
      return done;
    } catch (error) {
      const failure = asStoreFailure(error);
      if (failure instanceof StoreUnavailable) this.#failure = (error as Error).message;
      throw failure;
    }
  }

  /** The servers that hold keys. */
  get nodes(): Redis[] {
    return this.client instanceof Cluster ? this.client.nodes('master') : [this.client];
  }

  /** Loads the scripts that a server does not know yet, so that calls that are made together run in their order. */
  async #load(node: Redis): Promise<void> {
    const scripts = [...this.#scripts.values()];
    const known = (await node.script('EXISTS', ...scripts.map(({ sha }) => sha))) as number[];
    const missing = scripts.filter((_, place) => known[place] !== 1);
    await Promise.all(missing.map(({ text }) => node.script('LOAD', text)));
  }

  /** The time of the store, ms since the epoch. */
  now(): Promise<number> {
    if (this.#now) return Promise.resolve(this.#now());
    return this.send(async () => {
      const [seconds, micros] = (await this.client.time()) as [number | string, number | string];
      return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    });
  }

  /**
   * The keys that a pattern matches, on all nodes, in batches. Keys that are written in the meantime may be missing.
   */
  async *scan(pattern: string): AsyncGenerator<string[]> {
    const seen = new Set<string>();
    for (const node of this.nodes) {
      let cursor = '0';
      do {
        const [next, keys] = await this.send(() => node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT));
        cursor = next;
        // SCAN may name a key twice.
        const fresh = keys.filter((key) => !seen.has(key));
        for (const key of fresh) seen.add(key);
        if (fresh.length > 0) yield fresh;
      } while (cursor !== '0');
    }
  }

  /** Another client of the same server, for subscriptions. */
  another(): Redis | Cluster {
    const options = { enableOfflineQueue: true, lazyConnect: false, maxRetriesPerRequest: null };
    const client = clientOf(this.#address, options);
    this.#keepConnecting(client);
    return client;
  }

  /**
   * Connects again when ioredis gives up. It does so if Sentinel announces a failover while ioredis asks Sentinel for
   * the master.
   */
  #keepConnecting(client: Redis | Cluster): void {
    client.on('end', () => {
      const connect = () => {
        // The client emits `error` or `end`, too.
        if (!this.#closed && client.status === 'end') client.connect().catch(() => undefined);
      };
      setTimeout(connect, RECONNECT_MAX_MS).unref();
    });
  }

  close(): void {
    this.#closed = true;
    this.client.disconnect();
  }
}

/** The options that differ in a client for subscriptions. */
interface Differing {
  enableOfflineQueue: boolean;
  lazyConnect: boolean;
  maxRetriesPerRequest: null;
}

function clientOf(address: RedisAddress, differing?: Differing): Redis | Cluster {
  const common = {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    commandTimeout: COMMAND_MS,
    // A script that may have run is never sent again, and nothing waits for an unreachable server.
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    ...differing,
  };
  const retryStrategy = (times: number) => Math.min(50 * 2 ** Math.min(times, 5), RECONNECT_MAX_MS);
  switch (address.kind) {
    case 'single':
      return new Redis({ ...common, ...address.options, retryStrategy });
    case 'sentinel':
      return new Redis({
        ...common,
        ...address.options,
        retryStrategy,
        sentinelRetryStrategy: retryStrategy,
        failoverDetector: true,
        // If a master has become a replica, it refuses writes: reconnect to find the new master.
        reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
      });
    case 'cluster':
      return new Cluster([...address.nodes], {
        lazyConnect: common.lazyConnect,
        enableOfflineQueue: common.enableOfflineQueue,
        clusterRetryStrategy: retryStrategy,
        slotsRefreshTimeout: CONNECT_MS,
        redisOptions: { ...common, ...address.options },
      });
  }
}

function placeOf(address: RedisAddress): string {
  const nameOf = ({ host, port }: Node) => `${host}:${port}`;
  switch (address.kind) {
    case 'single':
      return 'path' in address.options ? address.options.path : nameOf(address.options);
    case 'sentinel':
      return `${address.options.name} (Sentinel)`;
    case 'cluster':
      return `${address.nodes.map(nameOf).join(',')} (Cluster)`;
  }
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** An error from the server that means that a script has a defect. */
const DEFECT = /^(?:ERR|WRONGTYPE|CROSSSLOT|NOSCRIPT)\b/;

function asStoreFailure(error: unknown): unknown {
  if (error instanceof AgentdError || !(error instanceof Error)) return error;
  return DEFECT.test(error.message) ? error : new StoreUnavailable(error);
}
