import type { Store } from '../../src/daemon/store/store.ts';
import type { StoreUnderTest } from '../contract/store-contract.ts';

/**
 * An empty store for the contract, with a clock that a test moves.
 * @param openStore opens one more store on the same data
 */
export async function storeUnderTest(
  openStore: (now: () => number) => Promise<Store>,
  boundsAnonymous = false,
): Promise<StoreUnderTest> {
  let time = Date.UTC(2030, 0, 1);
  const instances: Store[] = [];
  const open = async () => {
    const instance = await openStore(() => time);
    instances.push(instance);
    return instance;
  };
  const store = await open();
  return {
    store,
    another: open,
    beside: open,
    async restart() {
      await store.close();
      return open();
    },
    boundsAnonymous,
    now: () => time,
    advance(ms) {
      time += ms;
    },
    async dispose() {
      await Promise.all(instances.map((instance) => instance.close()));
    },
  };
}
