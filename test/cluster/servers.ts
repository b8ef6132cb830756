import { Postgres } from '../support/postgres.ts';
import { startCluster } from '../support/redis-cluster.ts';
import { startRedis } from '../support/redis-server.ts';

/** The store that the replicas share: one Redis, a Cluster of three nodes, or one Postgres. */
export type Servers = 'redis' | 'cluster' | 'postgres';

/** @param options the options of each Redis server */
export async function startServers(
  kind: Servers,
  options: readonly string[] = [],
): Promise<{ url: string; stop(): Promise<void> }> {
  switch (kind) {
    case 'redis':
      return startRedis([...options]);
    case 'cluster':
      return startCluster(3, { options });
    case 'postgres': {
      const server = await Postgres.start();
      return { url: await server.createDatabase(), stop: () => server.stop() };
    }
  }
}
