import { expect, it } from 'vitest';
import sse from '../../../plugins/sse/index.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { MASKED_CODE } from '../../../src/daemon/linking/codes-in-text.ts';
import { createCode } from '../../../src/daemon/linking/create-code.ts';
import { EventQueue } from '../../../src/daemon/message/converse.ts';
import { startStream } from '../../../src/daemon/stream/start-stream.ts';
import { ConfirmationWorld } from '../../support/confirmation-world.ts';

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
  const reader = queue[Symbol.asyncIterator]();
  const first = reader.next();
  queue.push(1);
  queue.push(2);
  expect([await first, await reader.next()]).toEqual([
    { value: 1, done: false },
    { value: 2, done: false },
  ]);
  const last = reader.next();
  queue.fail(new Error('the run failed'));
  await expect(last).rejects.toThrow('the run failed');
  const ended = new EventQueue<number>();
  const of = ended[Symbol.asyncIterator]();
  const end = of.next();
  ended.end();
  expect([await end, await of.next()]).toEqual([
    { value: undefined, done: true },
    { value: undefined, done: true },
  ]);
});

/** Asks for a stream, as a web client does. @returns its id */
async function askForStream({ services }: ConfirmationWorld, text: string): Promise<string> {
  const message = {
    ...{ platform: 'sse', user_id: 'u', channel_id: 'u', thread_id: null, metadata: {} },
    text,
  };
  const origin = { request_id: 'r', address: '192.0.2.1', validated: null, ticket: null };
  return (await startStream(sse, services, message, origin, { ttl_ms: 60_000 })).stream_id;
}

it('a web client’s message has the link codes of people masked before anything reads or stores it', async () => {
  const world = await ConfirmationWorld.open();
  const made = { person: personKey({ sub: 'ada' }), token: 't', lifetime_ms: 60_000 };
  const { code } = await createCode(world.services, made);
  await world.say(`Is it ${code}?`);
  expect(world.turns.map(({ text }) => text)).toEqual([`Is it ${MASKED_CODE}?`]);
  const stream_id = await askForStream(world, `link ${code}`);
  expect(JSON.stringify(await world.store.streams.find(stream_id))).toContain(`link ${MASKED_CODE}`);
});

it('the ids of a stream and of its session end in 128 random bits', async () => {
  const world = await ConfirmationWorld.open();
  const ids: string[] = [];
  for (const text of ['a', 'b']) {
    const stream_id = await askForStream(world, text);
    const { session_id = '' } = (await world.store.streams.find(stream_id))?.start ?? {};
    expect(stream_id).toMatch(/^sse_[\w-]{22}$/);
    expect(session_id).toMatch(/^sse_u_[\w-]{22}$/);
    ids.push(stream_id, session_id);
  }
  expect(new Set(ids.map((id) => id.slice(-22))).size).toBe(4);
});
