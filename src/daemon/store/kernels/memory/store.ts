import type { Clock } from '../../../time/clock.ts';
import { MEMORIES_MAX } from '../../bounds.ts';
import { memoryStore } from '../../memories/memory-documents.ts';
import { type Bounds, type Store, storeOver } from '../../store.ts';
import { MemoryKernel, type MemoryState } from './kernel.ts';

interface MemoryOptions extends Partial<Bounds> {
  clock: Clock;
  memoriesMax?: number;
}

/**
 * The store for tests and simulations. Two stores that are opened on the same state act like two daemons on one store.
 * Nothing outlives the process.
 */
export function openMemoryStore(
  state: MemoryState,
  { clock, memoriesMax = MEMORIES_MAX, ...wanted }: MemoryOptions,
): Store {
  const kernel = new MemoryKernel(state, clock);
  return storeOver(
    kernel,
    {
      memories: memoryStore(kernel, { memoriesMax }),
      maintenance: () => null,
      replicas: null,
      advice: async () => [],
      census: async () => null,
      condition: () => ({ writable: true, detail: null }),
      expectRoom: () => undefined,
      hints: { gather_ms: 0, hintsMayBeLost: true },
      scrub: async () => undefined,
    },
    wanted,
  );
}
