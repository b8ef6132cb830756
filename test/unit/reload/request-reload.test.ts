import { expect, it } from 'vitest';
import { requestReload } from '../../../src/daemon/admin/reloads.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import type { ReloadAnswer } from '../../../src/daemon/store/reloads.ts';
import type { Replica } from '../../../src/daemon/store/replicas.ts';
import type { Store } from '../../../src/daemon/store/store.ts';

const SETTINGS = { SESSION_BACKEND: 'postgres' } as Settings;
const LONG_MS = 60_000;

const [alive, dead] = ['alive', 'dead'].map(
  (replica_id) => ({ replica_id, host: 'h', pid: 1 }) as Replica,
) as [Replica, Replica];

/** @param lists the running daemons, as they are listed one time after another; the last list stays */
function storeWith(lists: Replica[][], answers: Pick<ReloadAnswer, 'replica_id'>[]): Store {
  const replicas = { list: async () => (lists.length > 1 ? lists.shift() : lists[0]) };
  const reloads = { request: async () => {}, answers: async () => answers };
  return { replicas, reloads } as unknown as Store;
}

it('a reload does not wait for a daemon that has died', async () => {
  const store = storeWith([[alive, dead], [alive, dead], [alive]], [alive]);
  expect(await requestReload(store, SETTINGS, LONG_MS)).toEqual({ answers: [alive], silent: [] });
  const none = storeWith([[dead], []], []);
  expect(await requestReload(none, SETTINGS, LONG_MS)).toBeNull();
});

it('a reload names a daemon that is running, and has not answered in time', async () => {
  const store = storeWith([[alive, dead]], [alive]);
  expect(await requestReload(store, SETTINGS, 1)).toEqual({ answers: [alive], silent: [dead] });
});
