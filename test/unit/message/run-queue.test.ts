import { expect, it } from 'vitest';
import { RunQueue } from '../../../src/daemon/message/run-queue.ts';
import type { LeaseStore } from '../../../src/daemon/store/leases.ts';
import type { StepLine } from '../../../src/daemon/trace/trace-record.ts';

/** One holder per key, first come first served. */
function leases(): LeaseStore {
  const tails = new Map<string, Promise<void>>();
  return {
    acquire(key, signal) {
      const before = tails.get(key) ?? Promise.resolve();
      let release = () => {};
      tails.set(
        key,
        Promise.all([before, new Promise<void>((resolve) => (release = resolve))]).then(() => {}),
      );
      return new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => {
          release();
          reject(signal.reason);
        });
        before.then(() => resolve({ lost: new AbortController().signal, release: async () => release() }));
      });
    },
  };
}

const line = (): StepLine => ({ verdict: 'ok' });

it('runs messages of one session one at a time, in the order of asking', async () => {
  const queue = new RunQueue(leases(), { concurrency: 10, max: 10, wait_ms: 1000 });
  const order: string[] = [];
  const first = await queue.takeTurn('s', line());
  const second = queue.takeTurn('s', line()).then((lease) => {
    order.push('second');
    return lease;
  });
  const third = queue.takeTurn('s', line()).then((lease) => {
    order.push('third');
    return lease;
  });
  const other = await queue.takeTurn('other', line());
  order.push('other');
  await first.release();
  await (await second).release();
  await (await third).release();
  await other.release();
  expect(order).toEqual(['other', 'second', 'third']);
  expect(queue.waiting).toBe(0);
});

it('refuses with 503 and the reason queue_full when more wait than may', async () => {
  const queue = new RunQueue(leases(), { concurrency: 1, max: 1, wait_ms: 1000 });
  const giveBack = await queue.takeRun(line());
  const waits = queue.takeRun(line());
  const refused = line();
  await expect(queue.takeRun(refused)).rejects.toMatchObject({
    code: 'unavailable',
    status: 503,
    retryAfter: 5,
    message: 'Too many messages are waiting for an answer.',
  });
  expect(refused.reason).toBe('queue_full');
  giveBack();
  (await waits)();
  expect(queue.waiting).toBe(0);
});

it('gives up a wait that takes too long, and hands the run to the next one that waits', async () => {
  const queue = new RunQueue(leases(), { concurrency: 1, max: 5, wait_ms: 30 });
  const giveBack = await queue.takeRun(line());
  const late = line();
  await expect(queue.takeRun(late)).rejects.toMatchObject({
    code: 'unavailable',
    message: 'No run was free in time.',
  });
  expect(late.reason).toBe('queue_wait');
  const waits = queue.takeRun(line());
  giveBack();
  const back = await waits;
  back();
  // Both runs are given back: one more is free at once.
  const free = await queue.takeRun(line());
  free();
});

it('does not count a message as waiting when its session is free', async () => {
  const queue = new RunQueue(leases(), { concurrency: 1, max: 0, wait_ms: 1000 });
  const lease = await queue.takeTurn('s', line());
  await expect(queue.takeTurn('s', line())).rejects.toMatchObject({ code: 'unavailable' });
  await lease.release();
  await (await queue.takeTurn('s', line())).release();
});

it('lets a message of the inbox wait beyond both bounds, until the daemon stops', async () => {
  const queue = new RunQueue(leases(), { concurrency: 1, max: 0, wait_ms: 1 });
  const stopping = new AbortController();
  const giveBack = await queue.takeRun(line());
  const patient = queue.takeRun(line(), stopping.signal);
  const stopped = queue.takeRun(line(), stopping.signal);
  await expect(queue.takeRun(line())).rejects.toMatchObject({ code: 'unavailable' });
  expect(queue.waiting).toBe(0);
  giveBack();
  const giveBackSecond = await patient;
  stopping.abort();
  await expect(stopped).rejects.toMatchObject({ code: 'unavailable', message: 'The daemon is stopping.' });
  giveBackSecond();
  await queue.takeRun(line());
});
