import { once } from 'node:events';
import { Cluster, type Redis } from 'ioredis';
import { AgentdError, StoreUnavailable } from '../../errors.ts';
import type { RedisAddress } from '../../settings/addresses.ts';
import { clientOf, placeOf, RECONNECT_MAX_MS } from './client.ts';
import { connectCluster } from './connect-cluster.ts';
import { type Durability, durabilityOf, JOURNAL, MUST_LAST } from './durability.ts';
import { readScripts, type Script } from './scripts.ts';
import { hasWaitAof, type ServerFacts } from './server.ts';

/** The result of a script: text, numbers, lists, or null. */
export type Reply = string | number | null | Reply[];

export interface ConnectionOptions {
  /** Numbers that scripts can use under these names. */
  constants: Readonly<Record<string, number>>;
  /** The time of the store in tests. If absent, the server's time is used. */
  now?: () => number;
}

/**
 * The client of Redis, or of all nodes of a Cluster. It reconnects by itself. While it is disconnected, every call
 * rejects.
 */
export class RedisConnection {
  readonly client: Redis | Cluster;
  /** The hosts as people see them, without credentials. */
  readonly place: string;
  /** The time of the store in tests. */
  readonly now: (() => number) | undefined;
  readonly #scripts: ReadonlyMap<string, Script>;
  readonly #address: RedisAddress;
  #durability: Durability | null = null;
  /** Scripts that resolve when their writes are durable. */
  #lasting: ReadonlySet<string> = new Set();
  #failure: string | null = null;
  #closed = false;

  constructor(address: RedisAddress, { constants, now }: ConnectionOptions) {
    this.#scripts = readScripts(constants);
    this.now = now;
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
      await (this.client instanceof Cluster ? connectCluster(this.client) : connectServer(this.client));
      await Promise.all(this.nodes.map((node) => this.#load(node)));
    } catch (error) {
      this.close();
      throw new StoreUnavailable(error);
    }
  }

  /**
   * Runs a named script. The command is sent only once: if the connection breaks in the meantime, the call rejects, and
   * it is not known whether the script ran.
   * @param given keys and arguments.
   */
  run(name: string, keys: number, given: (string | number)[]): Promise<Reply> {
    const script = this.#scripts.get(name);
    if (!script) throw new Error(`there is no script ${name}.lua`);
    return this.send(async () => {
      const reply = await this.#runScript(script, keys, given);
      if (this.#lasting.has(name)) await this.#untilDurable();
      return reply;
    });
  }

  /** @throws StoreUnavailable whatever the server answers: the script has run, so it has no defect. */
  async #untilDurable(): Promise<void> {
    try {
      await this.#durability?.written();
    } catch (error) {
      throw new StoreUnavailable(error);
    }
  }

  /**
   * From now on, scripts of the journal resolve when their writes are on disk, if the server can report this.
   * @param isAlways whether scripts that lead to an acknowledgment wait, too. If so, all these scripts wait for the
   * disk and, in a Cluster or if the server has replicas, for a replica.
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

  /** Runs commands. @throws StoreUnavailable if the server cannot be reached, or does not answer in time. */
  async send<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreUnavailable(new Error('the store is closed'));
    try {
      const done = await work();
      this.#failure = null;
      return done;
    } catch (error) {
      const failure = asStoreFailure(error);
      if (failure instanceof StoreUnavailable) this.#failure = (failure.cause as Error).message;
      throw failure;
    }
  }

  /** The servers that store keys. */
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

  /** Another client of the same server, for subscriptions. */
  another(): Redis | Cluster {
    const options = { enableOfflineQueue: true, lazyConnect: false, maxRetriesPerRequest: null };
    const client = clientOf(this.#address, options);
    this.#keepConnecting(client);
    return client;
  }

  /**
   * Connects again when ioredis gives up. ioredis gives up if Sentinel announces a failover while ioredis is asking
   * Sentinel for the master.
   */
  #keepConnecting(client: Redis | Cluster): void {
    client.on('end', () => {
      const connect = () => {
        // The failure needs no handling here, because the client also emits `error` or `end`.
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

/**
 * Rejects with the first error, since that of `connect` does not say why. Without Sentinel, `connect` never settles:
 * ioredis asks again and again.
 */
async function connectServer(client: Redis): Promise<void> {
  await Promise.race([client.connect(), once(client, 'ready')]);
}

function isNoScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

/** Matches an error from the server that means that a script has a defect. */
const DEFECT = /^(?:ERR|WRONGTYPE|CROSSSLOT|NOSCRIPT)\b/;

function asStoreFailure(error: unknown): unknown {
  if (error instanceof AgentdError || !(error instanceof Error)) return error;
  return DEFECT.test(error.message) ? error : new StoreUnavailable(error);
}
