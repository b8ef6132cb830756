import { emptyState } from '../../src/daemon/store/memory/state.ts';
import { openMemoryStore } from '../../src/daemon/store/memory/store.ts';
import { storeUnderTest } from '../support/store-under-test.ts';
import { describeStore } from './store-contract.ts';

describeStore('memory', async (wanted) => {
  const state = emptyState();
  return storeUnderTest(async (now) => openMemoryStore(state, { ...wanted, clock: { now } }), true);
});
