import { hash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Cluster, type Redis } from 'ioredis';
import { AgentdError, StoreUnavailable } from '../../../errors.ts';
import type { RedisAddress } from '../../../settings/addresses.ts';
import { createClient, describeAddress, RECONNECT_MAX_MS } from './client.ts';
import { connectCluster } from './connect-cluster.ts';
import { createDurability, type Durability } from './durability.ts';
import { ABSENT_KEY, LAYOUT, LAYOUT_KEY } from './keys.ts';
import { hasWaitAof, type ServerFacts } from './server.ts';

/** The result of a script: text, numbers, lists, or null. */
export type Reply = string | number | null | Reply[];

/** A script as it is sent to the server, and the hash by which the server knows it. */
interface Script {
  readonly text: string;
  readonly sha: string;
}

const readScript = (name: string) => readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8');
const SCRIPTS = { read: loadScript('read'), commit: loadScript('commit') } as const;

function loadScript(name: string): Script {
  const text = `local LAYOUT = ${LAYOUT}\n${readScript('base')}${readScript(name)}`;
  return { text, sha: hash('sha1', text, 'hex') };
}

/**
 * The client of Redis, or of all nodes of a Cluster. It reconnects by itself. While it is disconnected, every call
 * rejects.
 */
export class RedisConnection {
  readonly client: Redis | Cluster;
  /** The hosts as people see them, without credentials. */
  readonly place: string;
  readonly isCluster: boolean;
  readonly #address: RedisAddress;
  /** The time of the store in tests. */
  readonly #testTime: (() => number) | undefined;
  /** The last time of the server, and when it arrived. */
  #heard = { time: 0, at: 0 };
  #durability: Durability | null = null;
  #isAlways = false;
  #failure: string | null = null;
  #closed = false;

  /** @param now the time of the store in tests; if absent, that of the server is used */
  constructor(address: RedisAddress, now?: () => number) {
    this.#testTime = now;
    this.#address = address;
    this.place = describeAddress(address);
    this.client = createClient(address);
    this.isCluster = this.client instanceof Cluster;
    this.#keepConnecting(this.client);
    this.client.on('error', (error: Error) => {
      this.#failure = error.message;
    });
  }

  /** Why the last write, or anything since, failed; null otherwise: a server may refuse to write what it can read. */
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
   * Runs a script. The command is sent only once: if the connection breaks in the meantime, the call rejects, and it is
   * not known whether the script ran.
   * @param key decides which node of a Cluster runs it; null for the node that has all keys but shared texts
   * @returns the time of the store, and what the script returns besides
   */
  async run(
    name: keyof typeof SCRIPTS,
    key: string | null,
    given: readonly (string | number)[],
  ): Promise<[time: Reply, ...Reply[]]> {
    const keys = key === null ? [LAYOUT_KEY, ABSENT_KEY] : [key];
    const all = [...keys, this.#testTime?.() ?? '', ...given];
    const reply = await this.send(() => this.#runScript(SCRIPTS[name], keys.length, all));
    if (name === 'commit') this.#failure = null;
    const found = reply as [time: Reply, ...Reply[]];
    this.#heard = { time: Number(found[0]), at: performance.now() };
    return found;
  }

  /** The time of the store, ms since the epoch: what the server said last, and the time since. */
  now(): number {
    const { time, at } = this.#heard;
    return this.#testTime?.() ?? Math.floor(time + performance.now() - at);
  }

  /** Whether steps must be durable when they resolve, if the server can report it. */
  get lastsAll(): boolean {
    return this.#isAlways;
  }

  /** Whether the steps of the journal of actions must be. */
  get lastsJournal(): boolean {
    return this.#isAlways || this.#durability !== null;
  }

  /**
   * Resolves when everything that was written is durable. Call it in the same tick as the reply to the last write.
   * @throws StoreUnavailable whatever the server answers: what was written has been stored, so there is no defect.
   */
  async untilDurable(): Promise<void> {
    try {
      await this.#durability?.written();
    } catch (error) {
      const failure = new StoreUnavailable(error);
      this.#failure = (error as Error).message;
      throw failure;
    }
  }

  /**
   * From now on, writes are waited for: those of the journal until they are on disk, if the server can report this.
   * @param isAlways whether all others wait, too. If so, all wait for the disk and, in a Cluster or if the server has
   * replicas, for a replica.
   */
  awaitDurability(server: ServerFacts, isAlways: boolean): void {
    if (!isAlways && !hasWaitAof(server)) return;
    this.#durability = createDurability(this.client, isAlways ? server : { ...server, replicas: 0 });
    this.#isAlways = isAlways;
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
      return await work();
    } catch (error) {
      const failure = asStoreFailure(error);
      // Without a connection, the command only says so, but an earlier error has said why.
      const isKnown = this.#failure !== null && this.client.status !== 'ready';
      if (failure instanceof StoreUnavailable && !isKnown) this.#failure = (failure.cause as Error).message;
      throw failure;
    }
  }

  /** The servers that store keys. */
  get nodes(): Redis[] {
    return this.client instanceof Cluster ? this.client.nodes('master') : [this.client];
  }

  /** Loads the scripts that a server does not know yet, so that calls that are made together run in their order. */
  async #load(node: Redis): Promise<void> {
    const scripts = Object.values(SCRIPTS);
    const known = (await node.script('EXISTS', ...scripts.map(({ sha }) => sha))) as number[];
    const missing = scripts.filter((_, place) => known[place] !== 1);
    await Promise.all(missing.map(({ text }) => node.script('LOAD', text)));
  }

  /** Another client of the same server, for subscriptions. */
  another(): Redis | Cluster {
    const options = { enableOfflineQueue: true, lazyConnect: false, maxRetriesPerRequest: null };
    const client = createClient(this.#address, options);
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
    // If ioredis is asking a Cluster for its slots now, it would continue to ask each second, and keep the process alive.
    if (this.client instanceof Cluster) this.client.refreshSlotsCache = () => undefined;
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
