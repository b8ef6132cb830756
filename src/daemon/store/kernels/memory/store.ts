import type { Clock } from '../../../clock.ts';
import { type Bounds, storeOver } from '../../logic/store.ts';
import type { Store } from '../../store.ts';
import { MemoryKernel, type MemoryState } from './kernel.ts';

/**
 * The store for tests and simulations. Two stores that are opened on the same state act like two daemons on one store.
 * Nothing outlives the process.
 */
export function openKernelMemory(
  state: MemoryState,
  { clock, ...wanted }: Partial<Bounds> & { clock: Clock },
): Store {
  const kernel = new MemoryKernel(state, clock);
  return storeOver(
    kernel,
    {
      memories: null,
      maintenance: () => null,
      replicas: null,
      advice: async () => [],
      census: async () => null,
      condition: () => ({ writable: true, detail: null }),
      expectRoom: () => undefined,
      check: () => kernel.step(() => undefined),
      gather_ms: 0,
      scrub: async () => undefined,
    },
    wanted,
  );
}
