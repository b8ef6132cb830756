import { expect, it } from 'vitest';
import { personKey } from '../../../../src/daemon/identity/identity.ts';
import { SESSION_WRITE } from '../../../../src/daemon/store/actions/action-document.ts';
import { MemoryState } from '../../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../../src/daemon/store/kernels/memory/store.ts';
import { systemClock } from '../../../../src/daemon/time/clock.ts';
import { anAction } from '../../../contract/fixtures.ts';

it('erases a person without leaving in which sessions they wrote', async () => {
  const state = new MemoryState();
  const store = openMemoryStore(state, { clock: systemClock });
  const person = personKey({ sub: 'ada' });
  await store.actions.start(null, anAction({ person }));
  await store.actions.start(null, anAction());
  expect(state.all(SESSION_WRITE)).toHaveLength(2);
  await store.persons?.erase({ person, link_keys: [] });
  expect(state.all(SESSION_WRITE)).toHaveLength(1);
});
