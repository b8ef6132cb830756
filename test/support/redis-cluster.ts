import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { closeAtEnd } from './close-at-end.ts';
import { freePorts } from './free-ports.ts';
import { ended } from './redis-server.ts';

/** Several servers that belong together, on loopback. They are stopped at the end. */
export interface RedisServers {
  /** Value for REDIS_URL. */
  readonly url: string;
  /** Deletes everything. */
  flush(): Promise<void>;
  /** Ends one of the servers at once. */
  kill(server: number): Promise<void>;
  /** Starts the server again with the data on its disk, unless all servers have been stopped. */
  startAgain(server: number): Promise<void>;
  stop(): Promise<void>;
}

/** A slot that is being moved from one master of a Cluster to another. */
export interface SlotMove {
  /** Moves the keys of the slot that `isMoved` accepts, or all keys if it is absent. */
  keys(isMoved?: (key: string) => boolean): Promise<void>;
  /** Moves the remaining keys, and gives the slot to its new master. */
  finish(): Promise<void>;
  /** Leaves the slot at its master. No key may have been moved. */
  cancel(): Promise<void>;
}

export interface ClusterServers extends RedisServers {
  /** The number of the server that has the slot of this key. */
  masterOf(key: string): Promise<number>;
  /** Begins to move the slot of this key to the next master. */
  moveSlot(key: string): Promise<SlotMove>;
}

/** Number of slots of a Cluster. */
const SLOTS = 16_384;
/** Number of keys that `MIGRATE` moves in one step, and its time limit, ms. */
const [MIGRATED, MIGRATE_MS] = [50, 5000];

/** Starts a Cluster. The first servers are the masters. On request, each of them has a replica. */
export async function startCluster(
  size: number,
  { replicas = false, options = [] }: { replicas?: boolean; options?: readonly string[] } = {},
): Promise<ClusterServers> {
  const nodes = replicas ? 2 * size : size;
  const servers = await startServers(nodes, () => [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'],
    ...options,
  ]);
  const { clients, ports } = servers;
  await Promise.all(
    clients.slice(0, size).map((client, n) => {
      const [from, to] = [Math.ceil((n * SLOTS) / size), Math.ceil(((n + 1) * SLOTS) / size) - 1];
      return client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
    }),
  );
  for (const [n, port] of ports.entries())
    if (n > 0) await clients[0]?.call('CLUSTER', 'MEET', '127.0.0.1', port, servers.busPorts[n] as number);
  await Promise.all(
    clients.map((client) =>
      until(async () => {
        const info = String(await client.call('CLUSTER', 'INFO'));
        return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes}`);
      }),
    ),
  );
  const ids = await Promise.all(clients.map(async (client) => String(await client.call('CLUSTER', 'MYID'))));
  for (const [n, client] of clients.slice(size).entries()) {
    // A node accepts only a master that it knows.
    await until(
      async () => (await client.call('CLUSTER', 'REPLICATE', ids[n] as string).catch(() => null)) === 'OK',
    );
    await until(async () => (await client.info('replication')).includes('master_link_status:up'));
  }
  const moved = new Map<number, number>();
  const ownerOf = async (client: Redis, slot: number) => {
    const ranges = (await client.call('CLUSTER', 'SLOTS')) as [number, number, [string, number, string]][];
    return ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][2];
  };
  // Nodes that do not know the same epoch could later disagree about which node has a slot.
  const epochOf = async (client: Redis) =>
    /cluster_current_epoch:(\d+)/.exec(String(await client.cluster('INFO')))?.[1];
  const slotOf = async (key: string) => Number(await clients[0]?.call('CLUSTER', 'KEYSLOT', key));
  const masterIn = (slot: number) => moved.get(slot) ?? Math.min(size - 1, Math.floor((slot * size) / SLOTS));
  const moveSlot = async (key: string): Promise<SlotMove> => {
    const slot = await slotOf(key);
    const from = masterIn(slot);
    const to = (from + 1) % size;
    const [source, target] = [clients[from], clients[to]] as [Redis, Redis];
    const setSlot = (node: Redis, ...state: string[]) => node.call('CLUSTER', 'SETSLOT', slot, ...state);
    await setSlot(target, 'IMPORTING', ids[from] as string);
    await setSlot(source, 'MIGRATING', ids[to] as string);
    const keys = async (isMoved: (key: string) => boolean = () => true) => {
      const count = await source.call('CLUSTER', 'COUNTKEYSINSLOT', slot);
      const all = (await source.call('CLUSTER', 'GETKEYSINSLOT', slot, count as number)) as string[];
      const some = all.filter(isMoved);
      for (let n = 0; n < some.length; n += MIGRATED) {
        const place = ['127.0.0.1', ports[to] as number, '', 0, MIGRATE_MS] as const;
        await source.call('MIGRATE', ...place, 'KEYS', ...some.slice(n, n + MIGRATED));
      }
    };
    return {
      keys,
      async finish() {
        while (Number(await source.call('CLUSTER', 'COUNTKEYSINSLOT', slot)) > 0) await keys();
        // The new master is informed first. Otherwise it would refuse the clients that the old master redirects to it.
        const nodes = [target, source, ...clients.filter((node) => node !== target && node !== source)];
        await until(async () => {
          // A late message of the old master can take the slot back.
          for (const node of nodes.slice(0, size)) await setSlot(node, 'NODE', ids[to] as string);
          const owners = await Promise.all(nodes.map((node) => ownerOf(node, slot)));
          const epochs = await Promise.all(nodes.map(epochOf));
          return owners.every((owner) => owner === ids[to]) && new Set(epochs).size === 1;
        });
        moved.set(slot, to);
      },
      async cancel() {
        for (const node of [source, target]) await setSlot(node, 'STABLE');
      },
    };
  };
  return {
    ...servers,
    masterOf: async (key) => masterIn(await slotOf(key)),
    moveSlot,
    url: `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
  };
}

/** Starts a master, its replica, and a sentinel that promotes the replica if the master is down for a moment. */
export async function startSentinel(): Promise<RedisServers> {
  const servers = await startServers(2, (n, ports) =>
    n === 0 ? [] : ['--replicaof', '127.0.0.1', String(ports[0])],
  );
  const [sentinelPort] = await freePorts(1);
  const directory = mkdtempSync(join(tmpdir(), 'agentd-sentinel-'));
  const config = join(directory, 'sentinel.conf');
  writeFileSync(
    config,
    [
      `port ${sentinelPort}`,
      `dir ${directory}`,
      `sentinel monitor main 127.0.0.1 ${servers.ports[0]} 1`,
      'sentinel down-after-milliseconds main 500',
      'sentinel failover-timeout main 3000',
      '',
    ].join('\n'),
  );
  const sentinel = spawn('redis-server', [config, '--sentinel'], { stdio: 'ignore' });
  const client = new Redis({
    port: sentinelPort as number,
    retryStrategy: () => 20,
    maxRetriesPerRequest: null,
  });
  client.on('error', () => undefined);
  const stop = async () => {
    await ended(sentinel, 'SIGKILL');
    await servers.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  closeAtEnd(stop);
  await until(async () => ((await client.call('SENTINEL', 'REPLICAS', 'main')) as unknown[]).length === 1);
  client.disconnect();
  await until(
    async () => (await servers.clients[1]?.info('replication'))?.includes('link_status:up') ?? false,
  );
  return {
    ...servers,
    url: `redis+sentinel://127.0.0.1:${sentinelPort}/main`,
    stop,
  };
}

interface Servers extends Omit<RedisServers, 'url'> {
  ports: readonly number[];
  busPorts: readonly number[];
  clients: readonly Redis[];
}

async function startServers(
  size: number,
  optionsOf: (n: number, ports: readonly number[]) => readonly string[],
): Promise<Servers> {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-redis-'));
  const free = await freePorts(2 * size);
  const [ports, busPorts] = [free.slice(0, size), free.slice(size)];
  const start = (n: number): ChildProcess => {
    const own = join(directory, String(n));
    mkdirSync(own, { recursive: true });
    const port = ports[n];
    const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', own, '--save', ''];
    const bus = ['--cluster-port', String(busPorts[n])];
    return spawn('redis-server', [...place, ...bus, ...optionsOf(n, ports)], { stdio: 'ignore' });
  };
  const processes = ports.map((_, n) => start(n));
  let isStopped = false;
  const clients = ports.map((port) => {
    const client = new Redis({ port, retryStrategy: () => 20, maxRetriesPerRequest: null });
    client.on('error', () => undefined);
    return client;
  });
  const stop = async () => {
    isStopped = true;
    for (const client of clients) client.disconnect();
    await Promise.all(processes.map((one) => ended(one, 'SIGKILL')));
    rmSync(directory, { recursive: true, force: true });
  };
  closeAtEnd(stop);
  await Promise.all(clients.map((client) => client.ping()));
  return {
    ports,
    busPorts,
    clients,
    async flush() {
      await Promise.all(clients.map((client) => client.flushall()));
    },
    kill: (server) => ended(processes[server] as ChildProcess, 'SIGKILL'),
    async startAgain(server) {
      if (isStopped) return;
      processes[server] = start(server);
      await clients[server]?.ping();
    },
    stop,
  };
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 50));
}
