import { expect, it } from 'vitest';
import type { PushScope } from '../../../src/channel/index.ts';
import { createChannel } from '../../../src/daemon/channels/scope.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import { laterServices, TELEX } from '../../support/later-services.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

it('a reaction to a message that the channel has sent rates the answer, if it is from the user who asked', async () => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1));
  const store = openMemoryStore(new MemoryState(), { clock });
  const { services: usual } = await laterServices(store, clock);
  const agent = {
    apiVersion: 1 as const,
    async *run() {
      yield 'One.|Two.';
    },
  };
  const services = { ...usual, agent };
  const worker = new InboxWorker(services);
  const sent = Promise.withResolvers<void>();
  let scope: PushScope | undefined;
  const plugin = {
    ...TELEX,
    create: (given: PushScope) => {
      scope = given;
      return {
        routes: [],
        send: async ({ id, text }: { id: string; text: string }) => {
          await given.sendParts(
            id,
            () => text.split('|'),
            async (part) => `id of ${part}`,
          );
          sent.resolve();
        },
      };
    },
  };
  worker.add(plugin, createChannel(plugin, {}, { services, worker }));
  await worker.start();
  const rate = (user_id: string, sent_id: string, rating: 1 | -1 = 1) =>
    scope?.rate({ user_id, sent_id, rating });
  const message = { channel_id: 'c', thread_id: 'telex:c', text: 'Hi', metadata: {}, shared: true };
  await scope?.enqueue([{ ...message, platform: 'telex', user_id: 'ada', message_id: 'm' }]);
  await sent.promise;
  await expect.poll(() => store.feedback.findSent('telex', 'id of One.')).not.toBeNull();
  for (const [user_id, sent_id] of [
    ['bob', 'id of One.'],
    ['ada', 'another id'],
  ] as const)
    expect(await rate(user_id, sent_id)).toBe(false);
  expect(await store.feedback.list({ limit: 9 })).toEqual([]);
  expect(await rate('ada', 'id of One.')).toBe(true);
  expect(await rate('ada', 'id of Two.', -1)).toBe(true);
  const [entry] = await store.inbox.search('m');
  const turn_id = entry?.id;
  expect(await store.feedback.list({ limit: 9 })).toMatchObject([{ turn_id, rating: -1, platform: 'telex' }]);
  await worker.stop();
});
