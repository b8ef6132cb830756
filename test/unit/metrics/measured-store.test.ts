import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/daemon/errors.ts';
import { createGauges } from '../../../src/daemon/metrics/measured-store.ts';
import { Metrics } from '../../../src/daemon/metrics/metrics.ts';
import type { InboxCount } from '../../../src/daemon/store/inbox/inbox.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

const NOW = 1_000_000;

function gauges(counts: () => Promise<InboxCount[]>, clock = new VirtualClock(NOW)) {
  return createGauges({
    runs: { taken: 1, waiting: 0 },
    streaming: new Set(),
    broadcaster: { size: 0 },
    store: { inbox: { counts }, maintenance: null },
    memory: null,
    agents: { all: [] },
    clock,
  } as unknown as Parameters<typeof createGauges>[0]);
}

it('the inbox gauges give the age of the oldest unfinished message, but no age for failed messages', async () => {
  const count = { platform: 'teamchat', messages: 2, oldest_at: NOW - 7000 };
  const read = gauges(async () => [
    { ...count, state: 'waiting' },
    { ...count, state: 'failed' },
  ]);
  expect((await read.inbox()).map(({ oldest_seconds }) => oldest_seconds)).toEqual([7, null]);
});

it('the metrics leave out the inbox of a store that hangs, so that the other metrics can be read', async () => {
  const clock = new VirtualClock(NOW);
  const read = gauges(() => new Promise(() => {}), clock);
  const metrics = new Metrics({ version: '1.2.3', commit: null });
  metrics.addChannel('teamchat', true);
  metrics.readFrom(read);
  const inbox = expect(read.inbox()).rejects.toThrow(StoreUnavailable);
  const text = metrics.text();
  clock.moveTo(NOW + 2000);
  await inbox;
  expect(await text).toContain('agentd_runs{state="running"} 1');
  expect(await text).not.toContain('agentd_inbox_messages{');
});

it('the inbox gauges pass on an error of the store', async () => {
  const failure = new StoreUnavailable(new Error('ECONNREFUSED'));
  await expect(gauges(() => Promise.reject(failure)).inbox()).rejects.toBe(failure);
});
