import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { sharesStore } from '../settings/backends.ts';
import type { Settings } from '../settings/settings.ts';
import { isServed } from '../store/open.ts';
import type { ReloadAnswer, ReloadReport } from '../store/reloads.ts';
import type { Replica } from '../store/replicas.ts';
import type { Store } from '../store/store.ts';

export type { ReloadAnswer, ReloadReport };

/** How often to look for answers, ms. */
const LOOK_MS = 100;

/** The daemons that have answered, and those that have not. */
interface Reloaded {
  answers: readonly ReloadAnswer[];
  silent: readonly Pick<Replica, 'host' | 'pid'>[];
}

/**
 * Asks all daemons on the store to read their configuration again, and waits for the answers of those that keep running.
 * @param wait_ms how long to wait at most
 * @returns null if no daemon uses the store
 */
export async function requestReload(
  store: Store,
  settings: Settings,
  wait_ms: number,
): Promise<Reloaded | null> {
  const asked = await daemonsOn(store, settings);
  if (asked === null) return null;
  const reload_id = randomUUID();
  await store.reloads.request(reload_id);
  const ends_at = performance.now() + wait_ms;
  for (;;) {
    const answers = await store.reloads.answers(reload_id);
    const silent = asked.filter((one) => answers.every(({ replica_id }) => replica_id !== one.replica_id));
    // A daemon that has died or stopped meanwhile is no longer listed.
    const listed = silent.length === 0 ? [] : ((await store.replicas?.list()) ?? []);
    const missing = silent.filter((one) => listed.some(({ replica_id }) => replica_id === one.replica_id));
    if (asked.length > 0 && missing.length === 0 && answers.length === 0) return null;
    // The daemon of an embedded store has no entry by which it could be known.
    const isWhole = asked.length === 0 ? answers.length > 0 : missing.length === 0;
    if (isWhole || performance.now() >= ends_at) {
      const unknown = { host: 'this machine', pid: 0 };
      return { answers, silent: isWhole ? [] : missing.length > 0 ? missing : [unknown] };
    }
    await delay(LOOK_MS);
  }
}

/** The daemons on the store; empty if it is the only daemon of an embedded store, null if there is none. */
async function daemonsOn({ replicas }: Store, settings: Settings): Promise<Replica[] | null> {
  if (replicas === null || !sharesStore(settings)) return (await isServed(settings)) ? [] : null;
  const listed = await replicas.list();
  return listed.length === 0 ? null : listed;
}
