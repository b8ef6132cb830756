import { expect, it } from 'vitest';
import { RunSlots } from '../../../../src/daemon/message/waits/run-slots.ts';
import { WaitLimit } from '../../../../src/daemon/message/waits/wait-limit.ts';
import type { StepLine } from '../../../../src/daemon/trace/trace-record.ts';
import { VirtualClock } from '../../../support/virtual-clock.ts';

function slots(limits: { concurrency?: number; max?: number; wait_ms?: number } = {}) {
  const { concurrency = 1, max = 10, wait_ms = 1000 } = limits;
  const clock = new VirtualClock(0);
  const stopping = new AbortController();
  const waits = new WaitLimit(clock, stopping.signal, { max, wait_ms });
  const runs = new RunSlots(() => concurrency, waits);
  const line = (): StepLine => ({ verdict: 'ok' });
  const take = async (patient = false, own = line()) => runs.take({ line: own, patient });
  return { clock, stopping, waits, take, line };
}

it('the run slots let messages run at once while slots are free, and the next message when a slot is released', async () => {
  const { take, waits } = slots({ concurrency: 2 });
  const releases = [await take(), await take()];
  const order: number[] = [];
  const waiting = [1, 2].map((number) =>
    take().then((release) => {
      order.push(number);
      return release;
    }),
  );
  expect(waits.waiting).toBe(2);
  releases[0]?.();
  releases[0]?.();
  await waiting[0];
  expect([order, waits.waiting]).toEqual([[1], 1]);
  releases[1]?.();
  await waiting[1];
  expect([order, waits.waiting]).toEqual([[1, 2], 0]);
});

it('the run slots refuse a message with 503 and the reason queue_full if too many wait', async () => {
  const { take, line, waits } = slots({ max: 1 });
  const release = await take();
  const waits_now = take();
  const refused = line();
  await expect(take(false, refused)).rejects.toMatchObject({
    code: 'unavailable',
    status: 503,
    retryAfter: 5,
    message: 'Too many messages are waiting for an answer.',
  });
  expect(refused.reason).toBe('queue_full');
  release();
  (await waits_now)();
  expect(waits.waiting).toBe(0);
});

it('the run slots end a wait that takes too long, and give the slot to the next message', async () => {
  const { clock, take, line } = slots({ wait_ms: 30 });
  const release = await take();
  const late = line();
  const waiting = take(false, late);
  clock.moveTo(30);
  await expect(waiting).rejects.toMatchObject({
    code: 'unavailable',
    message: 'The message waited too long for its session or for a run.',
  });
  expect(late.reason).toBe('queue_wait');
  const next = take();
  release();
  (await next)();
  // Both messages have released their slots, so a slot is free at once.
  (await take())();
});

it('the run slots let a patient message wait beyond both limits, until the daemon stops', async () => {
  const { clock, stopping, take, line, waits } = slots({ max: 0, wait_ms: 1 });
  const release = await take();
  const patient = take(true);
  const own = line();
  const stopped = take(true, own);
  await expect(take()).rejects.toMatchObject({ code: 'unavailable' });
  clock.moveTo(60_000);
  expect(waits.waiting).toBe(0);
  release();
  const releaseSecond = await patient;
  stopping.abort();
  await expect(stopped).rejects.toMatchObject({ code: 'unavailable', message: 'The daemon is stopping.' });
  expect(own.reason).toBe('stopping');
  releaseSecond();
  await take();
});

it('the run slots also end the waits of ordinary messages when the daemon stops', async () => {
  const { stopping, take } = slots();
  await take();
  const waiting = take();
  stopping.abort();
  await expect(waiting).rejects.toMatchObject({ message: 'The daemon is stopping.' });
});
