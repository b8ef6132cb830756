import { hostname } from 'node:os';
import type { Log } from '../process/log.ts';
import type { NewReplica, Replica, ReplicaStore } from '../store/replicas.ts';
import { type AlarmClock, every } from '../time/clock.ts';
import { differingSettings } from './settings-digests.ts';

/** How often a daemon records that it runs, ms. */
const RECORD_MS = 5000;
/** How long a daemon stays listed without a new record, ms. */
const LISTED_MS = 3 * RECORD_MS;
/** How long agents may differ, ms: daemons do not restart or reload at the same moment. */
const DIFFER_MS = 60_000;

interface PresenceOptions {
  /** Random, and different after each start. */
  replica_id: string;
  replicas: ReplicaStore;
  clock: AlarmClock;
  log: Pick<Log, 'warn'>;
  version: string;
  digests: () => Readonly<Record<string, string>>;
  /** The digest of instructions, tools and model. */
  agentDigest: () => string;
  /** Current runs, and messages that wait for a run. */
  load: () => Pick<NewReplica, 'runs' | 'waiting'>;
}

/**
 * Records regularly that this daemon runs. Warns once about each setting that has a different value in another daemon
 * on the same store, and about another daemon whose agent differs for more than a minute.
 * @returns a function that stops the recording.
 */
export async function startPresence(options: PresenceOptions): Promise<() => Promise<void>> {
  const { replica_id, replicas, clock, log, version, load } = options;
  const began = performance.now();
  const differences = new Differences(log);
  const work = async () => {
    try {
      const uptime_ms = Math.round(performance.now() - began);
      const about = { replica_id, host: hostname(), pid: process.pid, version, uptime_ms };
      const own = { digests: options.digests(), agent_digest: options.agentDigest() };
      await replicas.record({ ...about, ...load(), ...own }, LISTED_MS);
      const listed = await replicas.list();
      differences.compare(
        own,
        listed.filter((other) => other.replica_id !== replica_id),
        uptime_ms,
      );
    } catch (error) {
      // If the store cannot be reached, the store itself logs that. This line adds the consequence.
      log.warn({ err: error }, 'could not record this daemon among the replicas; will try again');
    }
  };
  await work();
  const stop = every(clock, RECORD_MS, work);
  return async () => {
    await stop();
    // If this fails, the record expires.
    await replicas.remove(replica_id).catch(() => undefined);
  };
}

type Own = Pick<NewReplica, 'digests' | 'agent_digest'>;

/** Warns about what other daemons on the store have otherwise than this one. */
export class Differences {
  readonly #log: Pick<Log, 'warn'>;
  readonly #warned = new Set<string>();
  /** When each other daemon was first seen with another agent, in ms of the monotonic time of this daemon. */
  readonly #differ_since = new Map<string, number>();

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log;
  }

  /** @param now a monotonic time, ms */
  compare(own: Own, others: readonly Replica[], now: number): void {
    for (const other of others) {
      this.#compareSettings(own, other);
      this.#compareAgents(own, other, now);
    }
    const listed = new Set(others.map(({ replica_id }) => replica_id));
    for (const id of this.#differ_since.keys()) if (!listed.has(id)) this.#differ_since.delete(id);
  }

  #compareSettings(own: Own, { host, pid, digests }: Replica): void {
    for (const setting of differingSettings(own.digests, digests)) {
      if (!this.#isNew(`${setting} ${digests[setting]}`)) continue;
      this.#log.warn(
        { setting, host, pid },
        `another daemon on this store has a different ${setting}; set it to the same value on every replica`,
      );
    }
  }

  #compareAgents(own: Own, { replica_id, host, pid, agent_digest: other }: Replica, now: number): void {
    if (other === own.agent_digest) {
      this.#differ_since.delete(replica_id);
      return;
    }
    const since = this.#differ_since.get(replica_id) ?? now;
    this.#differ_since.set(replica_id, since);
    if (now - since <= DIFFER_MS || !this.#isNew(`agent ${own.agent_digest} ${other}`)) return;
    this.#log.warn(
      { host, pid, agent_digest: own.agent_digest, other_digest: other },
      'another daemon on this store has had other instructions, tools or another model for more than a minute; give every replica the same ones',
    );
  }

  #isNew(finding: string): boolean {
    if (this.#warned.has(finding)) return false;
    this.#warned.add(finding);
    return true;
  }
}
