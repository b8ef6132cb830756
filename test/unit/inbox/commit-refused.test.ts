import { setImmediate as tick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { AgentRuntime } from '../../../src/agent/index.ts';
import type { ChannelPlugin } from '../../../src/channel/index.ts';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import { anInboxMessage } from '../../contract/fixtures.ts';
import { testServices } from '../../support/services.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const CHAT = {
  name: 'chat',
  delivery: 'push',
  capabilities: { typing: false },
} as ChannelPlugin;
const MINUTE = 60_000;

it('the runs of a message end after INBOX_RUN_SECONDS if the store accepts every write except the reply', async () => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1));
  const store = openMemoryStore(new MemoryState(), { clock });
  let runs = 0;
  const agent: AgentRuntime = {
    apiVersion: 1,
    async *run() {
      runs++;
      yield 'a long reply';
    },
  };
  const full = () => Promise.reject(new StoreUnavailable(new Error('database or disk is full')));
  const { services } = await testServices({ store: { ...store, commitTurn: full }, clock, agent });
  const sent: string[] = [];
  const worker = new InboxWorker(services);
  worker.add(CHAT, { routes: [], send: async ({ text }) => void sent.push(text) });
  const message = anInboxMessage();
  await store.inbox.enqueue([message]);
  await worker.start();
  const settle = async () => {
    for (let ticks = 0; ticks < 20; ticks++) await tick();
    await worker.idle();
  };
  for (let minutes = 0; minutes < 20; minutes++) {
    await settle();
    clock.moveTo(clock.now() + MINUTE);
  }
  await settle();
  const runsByThen = runs;
  clock.moveTo(clock.now() + 60 * MINUTE);
  await settle();
  await worker.stop();
  expect(runs).toBe(runsByThen);
  expect(sent).toHaveLength(1);
  expect(await store.inbox.find(message.id)).toMatchObject({ state: 'failed', failure: 'unavailable' });
});
