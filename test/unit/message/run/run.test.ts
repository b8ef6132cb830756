import { expect, it } from 'vitest';
import { createLossCheck } from '../../../../src/daemon/message/run/run.ts';
import { MemoryState } from '../../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../../src/daemon/store/kernels/memory/store.ts';
import { ada, aSession } from '../../../contract/fixtures.ts';
import { saveSession } from '../../../contract/store-writes.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

it('a run counts as lost as soon as its person is erased', async () => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 31, 12));
  const store = openMemoryStore(new MemoryState(), { clock });
  const session = aSession(clock.now(), { owner: ada });
  await saveSession(store, session);
  const claim = await store.sessions.claim(session.session_id);
  if (claim === null) throw new Error('the session was already claimed');
  const isLost = createLossCheck({ claim } as Parameters<typeof createLossCheck>[0], { store });
  expect(await isLost()).toBe(false);
  await store.persons?.erase({ person: ada, link_keys: [] });
  expect(await isLost()).toBe(true);
});
