import { MemoryState } from '../../src/daemon/store/kernels/memory/kernel.ts';
import { openKernelMemory } from '../../src/daemon/store/kernels/memory/store.ts';
import { storeUnderTest } from '../support/store-under-test.ts';
import { describeStore } from './store-contract.ts';

describeStore('kernel memory', async (wanted) => {
  const state = new MemoryState();
  return storeUnderTest(async (now) => openKernelMemory(state, { ...wanted, clock: { now } }));
});
