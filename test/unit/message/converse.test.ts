import { expect, it } from 'vitest';
import { EventQueue } from '../../../src/daemon/message/converse.ts';

it('an event queue returns all events in order, including events from before the reader started, and then ends', async () => {
  const queue = new EventQueue<number>();
  queue.push(1);
  const seen: number[] = [];
  const reading = (async () => {
    for await (const event of queue) seen.push(event);
  })();
  queue.push(2);
  await Promise.resolve();
  queue.push(3);
  queue.end();
  await reading;
  expect(seen).toEqual([1, 2, 3]);
});

it('an event queue throws a failure only after the earlier events', async () => {
  const queue = new EventQueue<number>();
  queue.push(1);
  queue.fail(new Error('the run failed'));
  const seen: number[] = [];
  await expect(
    (async () => {
      for await (const event of queue) seen.push(event);
    })(),
  ).rejects.toThrow('the run failed');
  expect(seen).toEqual([1]);
});

it('an event queue hands each event once to a reader that waits for it, and its failure', async () => {
  const queue = new EventQueue<number>();
  const first = queue.next();
  queue.push(1);
  queue.push(2);
  expect([await first, await queue.next()]).toEqual([
    { value: 1, done: false },
    { value: 2, done: false },
  ]);
  const last = queue.next();
  queue.fail(new Error('the run failed'));
  await expect(last).rejects.toThrow('the run failed');
  const ended = new EventQueue<number>();
  const end = ended.next();
  ended.end();
  expect([await end, await ended.next()]).toEqual([
    { value: undefined, done: true },
    { value: undefined, done: true },
  ]);
});
