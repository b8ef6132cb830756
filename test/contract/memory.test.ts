import { MemoryState } from '../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../src/daemon/store/kernels/memory/store.ts';
import { storeUnderTest } from '../support/store-under-test.ts';
import { describeStore } from './store-contract.ts';

describeStore('memory', async (wanted) => {
  const state = new MemoryState();
  return storeUnderTest(async (now) => openMemoryStore(state, { ...wanted, clock: { now } }));
});
