import type { Kernel, Kind } from './kernels/kernel.ts';
import { listDocuments } from './scans.ts';

/** The daemons that share the store. */
export interface ReplicaStore {
  /** Records that a daemon is running. The daemon stays listed for `ttl_ms` after it was last recorded. */
  record(replica: NewReplica, ttl_ms: number): Promise<void>;
  /** Removes a daemon that has stopped. */
  remove(replica_id: string): Promise<void>;
  /** The running daemons, longest running first. */
  list(): Promise<Replica[]>;
}

export interface NewReplica {
  /** Random, and different after each start. */
  replica_id: string;
  host: string;
  pid: number;
  version: string;
  /** How long the daemon has been running, ms. */
  uptime_ms: number;
  /** The number of current runs, and of messages that wait for a run. */
  runs: number;
  waiting: number;
  /** For each setting that all daemons must agree on, the hash of its value. */
  digests: Readonly<Record<string, string>>;
  /** The digest of instructions, tools and model. */
  agent_digest: string;
}

export interface Replica extends NewReplica {
  /** When the daemon last recorded itself. */
  seen_at: number;
}

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
      (await listDocuments(kernel, REPLICA))
        .map(({ expires_at: _expires_at, ...replica }) => replica)
        .sort((a, b) => b.uptime_ms - a.uptime_ms),
  };
}
