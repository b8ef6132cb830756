import type { Kernel, Kind } from '../kernels/kernel.ts';
import type { Replica, ReplicaStore } from '../replicas.ts';
import { listed } from './listed.ts';

const REPLICA: Kind<Replica & { expires_at: number }> = {
  name: 'replica',
  expires: ({ expires_at }) => expires_at,
};

export function replicaStore(kernel: Kernel): ReplicaStore {
  return {
    record: (replica, ttl_ms) =>
      kernel.step((tx) =>
        tx.put(REPLICA, replica.replica_id, { ...replica, seen_at: tx.now, expires_at: tx.now + ttl_ms }),
      ),
    remove: (replica_id) => kernel.step((tx) => tx.delete(REPLICA, replica_id)),
    list: async () =>
      (await listed(kernel, REPLICA))
        .map(({ expires_at: _expires_at, ...replica }) => replica)
        .sort((a, b) => b.uptime_ms - a.uptime_ms),
  };
}
