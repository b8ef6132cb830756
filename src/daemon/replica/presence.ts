import { hostname } from 'node:os';
import type { Log } from '../process/log.ts';
import type { NewReplica, ReplicaStore } from '../store/replicas.ts';
import { type AlarmClock, every, randomSuffix } from '../time/clock.ts';
import { differingSettings } from './settings-digests.ts';

/** How often a daemon records that it runs, ms. */
const RECORD_MS = 5000;
/** How long a daemon stays listed without a new record, ms. */
const LISTED_MS = 3 * RECORD_MS;

interface PresenceOptions {
  replicas: ReplicaStore;
  clock: AlarmClock;
  log: Pick<Log, 'warn'>;
  version: string;
  digests: Readonly<Record<string, string>>;
  /** Current runs, and messages that wait for a run. */
  load: () => Pick<NewReplica, 'runs' | 'waiting'>;
}

/**
 * Records regularly that this daemon runs. Warns once about each setting that has a different value in another daemon
 * on the same store.
 * @returns a function that stops the recording.
 */
export async function startPresence({
  replicas,
  clock,
  log,
  version,
  digests,
  load,
}: PresenceOptions): Promise<() => Promise<void>> {
  const replica_id = randomSuffix();
  const began = performance.now();
  const warned = new Set<string>();
  const work = async () => {
    try {
      const uptime_ms = Math.round(performance.now() - began);
      const about = { replica_id, host: hostname(), pid: process.pid, version, uptime_ms };
      await replicas.record({ ...about, ...load(), digests }, LISTED_MS);
      for (const other of await replicas.list()) {
        if (other.replica_id === replica_id) continue;
        for (const setting of differingSettings(digests, other.digests)) {
          const finding = `${setting} ${other.digests[setting]}`;
          if (warned.has(finding)) continue;
          warned.add(finding);
          log.warn(
            { setting, host: other.host, pid: other.pid },
            `another daemon on this store has a different ${setting}; set it to the same value on every replica`,
          );
        }
      }
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
