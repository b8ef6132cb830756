import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ownerOfPerson } from '../../src/daemon/identity/identity.ts';
import { MemoryState } from '../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../src/daemon/store/kernels/memory/store.ts';
import { openSqliteStore } from '../../src/daemon/store/kernels/sqlite/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { ada } from './fixtures.ts';
import { describeMemories } from './memories-contract.ts';

describeMemories('memory', async (memoriesMax) => {
  const { clock, advance } = movedClock();
  const state = new MemoryState();
  return underTest(
    () => openMemoryStore(state, { clock, memoriesMax }),
    advance,
    () => undefined,
  );
});

describeMemories('sqlite', async (memoriesMax) => {
  const { clock, advance } = movedClock();
  const directory = mkdtempSync(join(tmpdir(), 'agentd-store-'));
  const path = join(directory, 'agentd.db');
  let role: 'daemon' | 'administrator' = 'daemon';
  const open = () => {
    const store = openSqliteStore(path, { role, clock, traceRetentionMs: 1000, memoriesMax });
    role = 'administrator';
    return store;
  };
  return underTest(open, advance, () => rmSync(directory, { recursive: true }));
});

function movedClock() {
  let time = Date.UTC(2030, 0, 1);
  return {
    clock: { now: () => time },
    advance(ms: number) {
      time += ms;
    },
  };
}

function underTest(open: () => Store, advance: (ms: number) => void, remove: () => void) {
  const instances: Store[] = [];
  const openMemories = () => {
    const store = open();
    instances.push(store);
    if (store.memories === null) throw new Error('the store keeps no memories');
    return store.memories;
  };
  return {
    memories: openMemories(),
    beside: async () => openMemories(),
    advance,
    async dispose() {
      await Promise.all(instances.map((instance) => instance.close()));
      remove();
    },
  };
}

it('the store keeps 500 memories of one owner', async () => {
  const { clock } = movedClock();
  const { memories } = openMemoryStore(new MemoryState(), { clock });
  const owner = ownerOfPerson(ada);
  for (let n = 0; n < 502; n++) await memories?.add(owner, { text: `${n}`, turn_id: 't', tainted: false });
  expect(await memories?.list(owner)).toHaveLength(500);
});
