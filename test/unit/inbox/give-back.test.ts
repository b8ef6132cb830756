import { setImmediate as tick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ChannelPlugin } from '../../../src/channel/index.ts';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import type { InboxStore } from '../../../src/daemon/store/inbox/inbox.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import { anInboxMessage } from '../../contract/fixtures.ts';
import { testServices } from '../../support/services.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const CHAT = { name: 'chat', delivery: 'push', capabilities: { typing: false } } as ChannelPlugin;

it('a paused worker returns a newly claimed message to the inbox, even if its first write fails', async () => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1));
  const store = openMemoryStore(new MemoryState(), { clock });
  const claimed = Promise.withResolvers<void>();
  const paused = Promise.withResolvers<void>();
  let settles = 0;
  const inbox: InboxStore = {
    ...store.inbox,
    async take(...given) {
      const taken = await store.inbox.take(...given);
      if (taken.claims.length === 0) return taken;
      claimed.resolve();
      await paused.promise;
      return taken;
    },
    settle: (...given) =>
      ++settles === 1
        ? Promise.reject(new StoreUnavailable(new Error('connection reset')))
        : store.inbox.settle(...given),
  };
  const { services, lines } = await testServices({ store: { ...store, inbox }, clock });
  const worker = new InboxWorker(services);
  worker.add(CHAT, { routes: [], send: async () => undefined });
  const message = anInboxMessage();
  await store.inbox.enqueue([message]);
  await worker.start();
  await claimed.promise;
  worker.pause();
  paused.resolve();
  await tick();
  clock.moveTo(clock.now() + 1000);
  await worker.stop();
  expect(await store.inbox.find(message.id)).toMatchObject({ state: 'waiting', attempts: 0, interrupted: 0 });
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
});
