import { emptyState } from '../../src/daemon/store/memory/state.ts';
import { openMemoryStore } from '../../src/daemon/store/memory/store.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { describeStore } from './store-contract.ts';

describeStore('memory', async (wanted) => {
  let time = Date.UTC(2030, 0, 1);
  const state = emptyState();
  const instances: Store[] = [];
  const open = async () => {
    const instance = openMemoryStore(state, { ...wanted, clock: { now: () => time } });
    instances.push(instance);
    return instance;
  };
  const store = await open();
  return {
    store,
    peer: open,
    beside: open,
    async restart() {
      await store.close();
      return open();
    },
    boundsAnonymous: false,
    now: () => time,
    advance(ms) {
      time += ms;
    },
    async dispose() {
      await Promise.all(instances.map((instance) => instance.close()));
    },
  };
});
