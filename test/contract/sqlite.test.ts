import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { openSqliteStore } from '../../src/daemon/store/kernels/sqlite/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { describeStore } from './store-contract.ts';

/** The folder of an empty store. Each test gets a copy, because making the tables takes longer than most tests. */
const empty = mkdtempSync(join(tmpdir(), 'agentd-empty-'));
beforeAll(async () => {
  await openSqliteStore(join(empty, 'agentd.db'), {
    role: 'daemon',
    clock: { now: () => Date.now() },
    traceRetentionMs: 1,
  }).close();
});
afterAll(() => rmSync(empty, { recursive: true }));

describeStore('sqlite', async (wanted) => {
  const directory = mkdtempSync(join(tmpdir(), 'agentd-store-'));
  const path = join(directory, 'agentd.db');
  copyFileSync(join(empty, 'agentd.db'), path);
  let time = Date.UTC(2030, 0, 1);
  const clock = { now: () => time };
  const instances: Store[] = [openSqliteStore(path, { role: 'daemon', clock, ...wanted })];
  const [store] = instances as [Store];
  return {
    store,
    another: async () => store,
    boundsAnonymous: true,
    async beside() {
      const administrator = openSqliteStore(path, { role: 'administrator', clock, ...wanted });
      instances.push(administrator);
      return administrator;
    },
    async restart() {
      await instances[0]?.close();
      const next = openSqliteStore(path, { role: 'daemon', clock, ...wanted });
      instances[0] = next;
      return next;
    },
    now: () => time,
    advance(ms) {
      time += ms;
    },
    async dispose() {
      await Promise.all(instances.map((instance) => instance.close()));
      rmSync(directory, { recursive: true });
    },
  };
});
