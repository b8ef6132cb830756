import { Cluster, Redis } from 'ioredis';
import type { Node, RedisAddress } from '../../../settings/addresses.ts';
import { withCompleteHosts } from './cluster-hosts.ts';

/** How long a command may take, ms. After that, the store counts as unreachable. */
const COMMAND_MS = 5000;
/** How long connecting may take, ms. */
const CONNECT_MS = 5000;
/** How often the nodes of a Cluster are asked which slots they own, ms. After a failover, this finds the new master. */
const SLOTS_MS = 1000;
/** The longest pause between two attempts to connect, ms. */
export const RECONNECT_MAX_MS = 1000;

/** The options that differ in a client for subscriptions. */
interface Differing {
  enableOfflineQueue: boolean;
  lazyConnect: boolean;
  maxRetriesPerRequest: null;
}

export function createClient(address: RedisAddress, differing?: Differing): Redis | Cluster {
  const common = {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    commandTimeout: COMMAND_MS,
    // The machine of the server may be gone: then nothing else would close the connection for a quarter of an hour.
    socketTimeout: COMMAND_MS,
    // If a master has become a replica, it refuses writes: reconnect to find the new master.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
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
      });
    case 'cluster':
      return withSafeAsking(
        withCompleteHosts(
          new Cluster([...address.nodes], {
            lazyConnect: common.lazyConnect,
            enableOfflineQueue: common.enableOfflineQueue,
            clusterRetryStrategy: retryStrategy,
            // Otherwise a script that may have run is sent again if its node closes the connection.
            retryDelayOnFailover: 0,
            slotsRefreshTimeout: CONNECT_MS,
            slotsRefreshInterval: SLOTS_MS,
            redisOptions: { ...common, ...address.options },
          }),
        ),
      );
  }
}

/**
 * While a slot is moved, ioredis sends ASKING before a redirected command, and ignores its promise. If the node is
 * unreachable, the rejection of this promise would end the process. The command itself is rejected, too.
 */
function withSafeAsking(cluster: Cluster): Cluster {
  cluster.on('+node', (node: Redis) => {
    const asking = node.asking.bind(node);
    node.asking = () => {
      const asked = asking();
      asked.catch(() => undefined);
      return asked;
    };
  });
  return cluster;
}

/** The hosts as people see them, without credentials. */
export function describeAddress(address: RedisAddress): string {
  const formatNode = ({ host, port }: Node) => `${host}:${port}`;
  switch (address.kind) {
    case 'single':
      return 'path' in address.options ? address.options.path : formatNode(address.options);
    case 'sentinel':
      return `${address.options.name} (Sentinel)`;
    case 'cluster':
      return `${address.nodes.map(formatNode).join(',')} (Cluster)`;
  }
}
