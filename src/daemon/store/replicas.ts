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
}

export interface Replica extends NewReplica {
  /** When the daemon last recorded itself. */
  seen_at: number;
}
