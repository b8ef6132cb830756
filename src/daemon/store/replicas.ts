/** The daemons that share the store. */
export interface ReplicaStore {
  /** Records that a daemon runs; it is listed for `ttl_ms`, unless it is recorded again. */
  record(replica: NewReplica, ttl_ms: number): Promise<void>;
  /** A daemon has stopped: it is not listed any more. */
  remove(replica_id: string): Promise<void>;
  /** Those that run, the oldest first. */
  list(): Promise<Replica[]>;
}

export interface NewReplica {
  /** Random; another one after each start. */
  replica_id: string;
  host: string;
  pid: number;
  version: string;
  /** How long it has run, ms. */
  uptime_ms: number;
  /** Runs that go on now, and messages that wait for one. */
  runs: number;
  waiting: number;
  /** Of each setting that all daemons must agree on: the hash of its value. */
  digests: Readonly<Record<string, string>>;
}

export interface Replica extends NewReplica {
  /** When it was recorded last. */
  seen_at: number;
}
