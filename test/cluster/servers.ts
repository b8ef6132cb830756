import { startCluster } from '../support/redis-cluster.ts';
import { startRedis } from '../support/redis-server.ts';

/** The Redis that the replicas share: one server, or a Cluster of three nodes. */
export type Servers = 'redis' | 'cluster';

/** @param options the options of each server */
export function startServers(
  kind: Servers,
  options: readonly string[] = [],
): Promise<{ url: string; stop(): Promise<void> }> {
  return kind === 'redis' ? startRedis([...options]) : startCluster(3, { options });
}
