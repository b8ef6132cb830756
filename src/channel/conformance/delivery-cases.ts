import assert from 'node:assert/strict';
import { setImmediate as tick } from 'node:timers/promises';
import { type EnqueueOutcome, type IncomingMessage, type SimulatedEvent, TEXT_MAX } from '../index.ts';
import type { Bench } from './bench.ts';
import { type OpenChannel, withChannel } from './open-channel.ts';
import type { Trial } from './options.ts';
import { RecordedProblem } from './recording-scope.ts';

/** A channel that does not wait for the store answers within this many ticks of the event loop. */
const TICKS = 50;

/** Cases about deliveries, which the plugin's simulator makes. */
export function deliveryCases(): readonly [name: string, trial: Trial][] {
  return [
    ['enqueues messages from direct conversations and from groups', enqueuesMessages],
    ['enqueues a text of 16,000 characters unchanged', enqueuesLongTexts],
    ['acknowledges deliveries that are not text', acknowledgesOthers],
    [
      'gives a repeated message the same message_id, and a different message a different message_id',
      namesRepeatsAlike,
    ],
    ['gives messages the same id, thread and time in any order of arrival', ignoresOrder],
    ['gives each person and each group a separate thread', separatesThreads],
    ['does not enqueue an edit as a new message', recognizesEdits],
    ['answers 200 only after the message is stored', answersAfterStoring],
    ['enqueues a message that is delivered again because it could not be stored', enqueuesAgain],
  ];
}

async function enqueuesMessages(bench: Bench): Promise<void> {
  for (const place of bench.places) {
    const [message] = await deliverEach(bench, [{ place }]);
    assert.equal(message.text, bench.event({}).text);
    assert.equal(
      message.shared ?? false,
      place === 'group',
      `\`shared\` must be ${place === 'group'} for a message from a ${place} conversation`,
    );
  }
}

async function enqueuesLongTexts(bench: Bench): Promise<void> {
  for (const text of ['x'.repeat(TEXT_MAX), '😀'.repeat(TEXT_MAX)]) {
    const [message] = await deliverEach(bench, [{ text }]);
    assert.ok(message.text === text, `a text of ${TEXT_MAX} characters must be enqueued unchanged`);
  }
}

async function acknowledgesOthers(bench: Bench): Promise<void> {
  await withChannel(bench, { start: true }, async (open) => {
    for (const place of bench.places) {
      await open.take(bench.delivery({ kind: 'other', place, text: '' }));
      open.inspect();
      open.forget();
      await open.take(bench.delivery({ kind: 'status', place, text: 'delivered' }));
      assert.equal(open.scope.enqueued.length, 0, 'a status update must not be enqueued');
    }
  });
}

async function namesRepeatsAlike(bench: Bench): Promise<void> {
  for (const place of bench.places) {
    const [first, again, other] = await deliverEach(bench, [
      { place, number: 1 },
      { place, number: 1 },
      { place, number: 2 },
    ]);
    assert.equal(again.message_id, first.message_id, 'a repeated message must have the same message_id');
    assert.notEqual(other.message_id, first.message_id, 'another message must have a different message_id');
  }
}

async function ignoresOrder(bench: Bench): Promise<void> {
  for (const place of bench.places) {
    const of = (number: number) => ({ place, number, thread: 'one', text: `number ${number}` });
    const inOrder = (await deliverEach(bench, [of(1), of(2), of(3)])).map(identity);
    const outOfOrder = (await deliverEach(bench, [of(3), of(1), of(2)])).map(identity);
    assert.deepEqual([outOfOrder[1], outOfOrder[2], outOfOrder[0]], inOrder);
    assert.equal(new Set(inOrder.map(({ thread_id }) => thread_id)).size, 1, 'they must have one thread_id');
    for (const [index, { sent_at }] of inOrder.entries()) {
      const { sent_at: written } = bench.event(of(index + 1));
      const isClose = sent_at === undefined || Math.abs(sent_at - written) <= 1000;
      assert.ok(isClose, `sent_at must be the time when the message was sent: ${written}, not ${sent_at}`);
    }
  }
}

function identity({ message_id, thread_id, sent_at, text }: IncomingMessage) {
  return { message_id, thread_id, sent_at, text };
}

async function separatesThreads(bench: Bench): Promise<void> {
  const [user = '', other = ''] = bench.simulator?.who() ?? [];
  const [one, two] = await deliverEach(bench, [
    { user, number: 1 },
    { user: other, number: 2 },
  ]);
  assert.notEqual(two.user_id, one.user_id, 'another person must have a different user_id');
  assert.notEqual(two.thread_id, one.thread_id, 'another person must have a different thread_id');
  assert.notDeepEqual(two.reply_to, one.reply_to, 'another person must have a different reply_to');
  if (!bench.places.includes('group')) return;
  const [room] = await deliverEach(bench, [{ user, place: 'group', number: 3 }]);
  assert.equal(room.user_id, one.user_id, 'a person must have the same user_id in a group');
  assert.notEqual(room.thread_id, one.thread_id, 'a group must have a different thread_id');
}

async function recognizesEdits(bench: Bench): Promise<void> {
  await withChannel(bench, { start: true }, async (open) => {
    await open.take(bench.delivery({}));
    await open.take(bench.delivery({ kind: 'edit', text: 'Good evening.' }));
    const { enqueued, edited } = open.scope;
    assert.equal(enqueued.length, 1, 'an edit must not be enqueued as a new message');
    for (const edit of edited) {
      const { message_id, user_id, thread_id } = enqueued[0] ?? {};
      assert.deepEqual({ ...edit }, { message_id, user_id, thread_id, text: 'Good evening.' });
    }
  });
}

async function answersAfterStoring(bench: Bench): Promise<void> {
  const [asked, kept] = [Promise.withResolvers<void>(), Promise.withResolvers<EnqueueOutcome[]>()];
  const enqueue = () => {
    asked.resolve();
    return kept.promise;
  };
  await withChannel(bench, { start: true, members: { enqueue } }, async (open) => {
    let isAnswered = false;
    const answer = open.deliver(bench.delivery({})).finally(() => {
      isAnswered = true;
    });
    await Promise.race([asked.promise, answer]);
    for (let ticks = 0; ticks < TICKS; ticks++) await tick();
    assert.ok(!isAnswered, 'the delivery was answered before its message was stored');
    kept.resolve(['kept']);
    assert.ok((await answer).status < 300);
  });
}

async function enqueuesAgain(bench: Bench): Promise<void> {
  let isDown = true;
  const kept: IncomingMessage[] = [];
  const enqueue = async (messages: readonly IncomingMessage[]) => {
    if (isDown) throw new RecordedProblem('unavailable', 'the store cannot be reached');
    kept.push(...messages);
    return messages.map((): EnqueueOutcome => 'kept');
  };
  await withChannel(bench, { start: true, members: { enqueue } }, async (open) => {
    const { status } = await open.deliver(bench.delivery({}));
    assert.equal(status, 503, 'the status must be 503 if the message could not be stored');
    isDown = false;
    await open.take(bench.delivery({}));
    assert.equal(kept.length, 1, 'the second delivery must enqueue one message');
  });
}

/** Delivers each event separately, and returns the messages in order. Each delivery must make one message. */
async function deliverEach<Events extends Partial<SimulatedEvent>[]>(
  bench: Bench,
  events: readonly [...Events],
): Promise<{ [Index in keyof Events]: IncomingMessage }> {
  return withChannel(bench, { start: true }, async (open) => {
    const messages: IncomingMessage[] = [];
    for (const event of events) messages.push(await only(open, bench, event));
    return messages as { [Index in keyof Events]: IncomingMessage };
  });
}

async function only(
  open: OpenChannel,
  bench: Bench,
  event: Partial<SimulatedEvent>,
): Promise<IncomingMessage> {
  const { enqueued } = open.scope;
  const before = enqueued.length;
  await open.take(bench.delivery(event));
  const [message, ...more] = enqueued.slice(before);
  assert.ok(message && more.length === 0, 'one event must make one message');
  return message;
}
