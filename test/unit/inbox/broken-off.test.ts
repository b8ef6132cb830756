import { setImmediate as tick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ChannelPlugin } from '../../../src/channel/index.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import { anInboxMessage } from '../../contract/fixtures.ts';
import { testServices } from '../../support/services.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const CHAT = { name: 'chat', delivery: 'push', capabilities: { typing: false } } as ChannelPlugin;

it('a message whose processing stopped because of a defect is retried, so that later messages do not wait forever', async () => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1));
  const store = openMemoryStore(new MemoryState(), { clock });
  let settles = 0;
  const settled = Promise.withResolvers<void>();
  const { services, lines } = await testServices({
    clock,
    store: {
      ...store,
      inbox: {
        ...store.inbox,
        async settle(...given) {
          if (++settles === 1) throw new TypeError('a defect');
          const ours = await store.inbox.settle(...given);
          settled.resolve();
          return ours;
        },
      },
    },
  });
  const worker = new InboxWorker(services);
  worker.add(CHAT, { routes: [], send: async () => undefined });
  const message = anInboxMessage({ session_id: null, message: null, reply: 'Hello.' });
  await store.inbox.enqueue([message]);
  await worker.start();
  await settled.promise;
  expect(await store.inbox.find(message.id)).toMatchObject({
    state: 'replied',
    failure: 'internal_error',
    next_attempt_at: clock.now() + 60_000,
  });
  clock.moveTo(clock.now() + 60_000);
  await tick();
  await worker.idle();
  expect(await store.inbox.find(message.id)).toMatchObject({ state: 'done' });
  await worker.stop();
  expect(lines.filter(({ level }) => level === 'error').map(({ msg }) => msg)).toEqual([
    'an attempt to process a message failed unexpectedly',
  ]);
});
