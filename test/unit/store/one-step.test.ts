import { afterEach, expect, it, vi } from 'vitest';
import { MemoryKernel, MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { GUARD_LIMITS } from '../../contract/fixtures.ts';
import { beginFullTurn } from '../../contract/turns-contract.ts';
import { anArrival } from './an-arrival.ts';

// What one step changes is stored all at once or not at all: that is tested for each kernel.

afterEach(() => vi.restoreAllMocks());

it('commitTurn stores everything that a turn changes in one step', async () => {
  const store = openMemoryStore(new MemoryState(), { clock: systemClock });
  const { claim, changes } = await beginFullTurn(store, Date.now());
  const step = vi.spyOn(MemoryKernel.prototype, 'step');
  expect(await store.commitTurn(claim, changes)).toBe('committed');
  expect(step).toHaveBeenCalledTimes(1);
});

it('screen stores the verdict and the row of the inbox in one step', async () => {
  const store = openMemoryStore(new MemoryState(), { clock: systemClock });
  const step = vi.spyOn(MemoryKernel.prototype, 'step');
  const { outcomes } = await store.inbox.screen([anArrival({ message_id: 'm1' })], GUARD_LIMITS);
  expect(outcomes).toEqual(['kept']);
  expect(step).toHaveBeenCalledTimes(1);
});
