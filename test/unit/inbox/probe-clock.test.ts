import { setImmediate as tick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ChannelPlugin } from '../../../src/channel/index.ts';
import { DeliveryFailed } from '../../../src/daemon/inbox/outcome.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import type { InboxStore } from '../../../src/daemon/store/inbox/inbox.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import { anInboxMessage } from '../../contract/fixtures.ts';
import { testServices } from '../../support/services.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const CHAT = { name: 'chat', delivery: 'push', capabilities: { typing: false } } as ChannelPlugin;

it('a process whose clock is ahead of that of the store takes no text until the store allows a probe', async () => {
  const now = Date.UTC(2030, 0, 1);
  const [ahead, behind] = [new VirtualClock(now + 60_000), new VirtualClock(now)];
  const store = openMemoryStore(new MemoryState(), { clock: behind });
  let claims = 0;
  const inbox: InboxStore = {
    ...store.inbox,
    claim(...given) {
      claims++;
      return store.inbox.claim(...given);
    },
  };
  const { services } = await testServices({ store: { ...store, inbox }, clock: ahead });
  const worker = new InboxWorker(services);
  let sends = 0;
  const send = async () => {
    sends++;
    throw new DeliveryFailed('status 503', { final: false, platform: 'unreachable' });
  };
  worker.add(CHAT, { routes: [], send });
  await store.outages.note('chat', 'unreachable', 'no answer', 1000);
  await store.inbox.enqueue([anInboxMessage({ session_id: null, message: null, reply: 'text' })]);
  await worker.start();
  for (let ticks = 0; ticks < 200; ticks++) await tick();
  expect(sends).toBe(1);
  const first = claims;
  worker.wake();
  for (let ticks = 0; ticks < 200; ticks++) await tick();
  expect([claims - first, sends]).toEqual([0, 1]);
  await worker.stop();
});
