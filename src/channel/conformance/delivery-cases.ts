import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { type IncomingMessage, type SimulatedEvent, TEXT_MAX } from '../index.ts';
import { Bench } from './bench.ts';
import { type OpenChannel, withChannel } from './open-channel.ts';
import type { Trial } from './options.ts';
import { RecordedProblem } from './recorded-errors.ts';

/** Turns of the event loop within which a channel that does not wait would have answered. */
const TURNS = 50;

const ODD_TEXTS: readonly string[] = [
  'x'.repeat(TEXT_MAX + 1),
  '😀'.repeat(TEXT_MAX + 1),
  'x'.repeat(10 * TEXT_MAX),
  '',
  ' \n ',
  'a\u0000b',
  'a\ud800b',
  '\u200b',
  '/',
  '<@'.repeat(1000),
];

/** What becomes of deliveries that the plugin's simulator makes. */
export function deliveryCases(): readonly [name: string, trial: Trial][] {
  return [
    ['takes what a person writes, alone with it and in a room', takesMessages],
    ['takes a text of 16,000 characters whole', takesLongTexts],
    ['survives texts that are too long, empty or broken', survivesTexts],
    ['acknowledges what is no text', acknowledgesOthers],
    ['names a repeated message alike, and another one otherwise', namesRepeatsAlike],
    ['keeps the id, thread and time of messages that come out of order', keepsOrderOut],
    ['keeps people and rooms apart', keepsApart],
    ['takes an edit for no new message', knowsEdits],
    ['answers 200 only when what it took is kept', answersAfterKeeping],
    ['takes what comes again after it could not be kept', takesAgain],
  ];
}

async function takesMessages(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  for (const place of bench.places) {
    const [message] = await taken(bench, [{ place }]);
    assert.equal(message.text, bench.event({}).text);
    assert.equal(message.shared ?? false, place === 'group', `shared, of a message in a ${place} place`);
  }
}

async function takesLongTexts(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  for (const text of ['x'.repeat(TEXT_MAX), '😀'.repeat(TEXT_MAX)]) {
    const [message] = await taken(bench, [{ text }]);
    assert.ok(message.text === text, `a text of ${TEXT_MAX} characters is taken as it was written`);
  }
}

async function survivesTexts(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  await withChannel(bench, { start: true }, async (open) => {
    for (const kind of ['message', 'edit', 'command'] as const) {
      for (const place of bench.places) {
        for (const [index, text] of ODD_TEXTS.entries()) {
          const { status } = await open.deliver(bench.delivery({ kind, place, text, number: index + 1 }));
          const what = JSON.stringify(text.slice(0, 12));
          assert.ok(status < 500, `a ${kind} that begins with ${what} was answered ${status}`);
          open.look();
          open.forget();
        }
      }
    }
  });
}

async function acknowledgesOthers(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  await withChannel(bench, { start: true }, async (open) => {
    for (const place of bench.places) {
      await open.take(bench.delivery({ kind: 'other', place, text: '' }));
      open.look();
      open.forget();
      await open.take(bench.delivery({ kind: 'status', place, text: 'delivered' }));
      assert.equal(open.scope.enqueued.length, 0, 'what became of a message of ours is no message');
    }
  });
}

async function namesRepeatsAlike(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  for (const place of bench.places) {
    const [first, again, other] = await taken(bench, [
      { place, number: 1 },
      { place, number: 1 },
      { place, number: 2 },
    ]);
    assert.equal(again.message_id, first.message_id, 'message_id of a repeat');
    assert.notEqual(other.message_id, first.message_id, 'message_id of another message');
  }
}

async function keepsOrderOut(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  for (const place of bench.places) {
    const of = (number: number) => ({ place, number, thread: 'one', text: `number ${number}` });
    const inOrder = (await taken(bench, [of(1), of(2), of(3)])).map(identity);
    const outOfOrder = (await taken(bench, [of(3), of(1), of(2)])).map(identity);
    assert.deepEqual([outOfOrder[1], outOfOrder[2], outOfOrder[0]], inOrder);
    assert.equal(new Set(inOrder.map(({ thread_id }) => thread_id)).size, 1, 'one thread');
    for (const [index, { sent_at }] of inOrder.entries()) {
      const { sent_at: written } = bench.event(of(index + 1));
      const isNear = sent_at === undefined || Math.abs(sent_at - written) <= 1000;
      assert.ok(isNear, `sent_at is when it was written: ${sent_at}, not ${written}`);
    }
  }
}

function identity({ message_id, thread_id, sent_at, text }: IncomingMessage) {
  return { message_id, thread_id, sent_at, text };
}

async function keepsApart(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  const [user = '', other = ''] = bench.simulator?.who() ?? [];
  const [one, two] = await taken(bench, [
    { user, number: 1 },
    { user: other, number: 2 },
  ]);
  assert.notEqual(two.user_id, one.user_id, 'user_id of another person');
  assert.notEqual(two.thread_id, one.thread_id, 'thread_id of another person');
  assert.notDeepEqual(two.reply_to, one.reply_to, 'reply_to of another person');
  if (!bench.places.includes('group')) return;
  const [room] = await taken(bench, [{ user, place: 'group', number: 3 }]);
  assert.equal(room.user_id, one.user_id, 'user_id of the same person in a room');
  assert.notEqual(room.thread_id, one.thread_id, 'thread_id of a room');
}

async function knowsEdits(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  await withChannel(bench, { start: true }, async (open) => {
    await open.take(bench.delivery({}));
    await open.take(bench.delivery({ kind: 'edit', text: 'Good evening.' }));
    const { enqueued, edited } = open.scope;
    assert.equal(enqueued.length, 1, 'an edit is no new message');
    for (const { message_id, text } of edited)
      assert.deepEqual([message_id, text], [enqueued[0]?.message_id, 'Good evening.']);
  });
}

async function answersAfterKeeping(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  const [asked, kept] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
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
    for (let turns = 0; turns < TURNS; turns++) await turn();
    assert.ok(!isAnswered, 'the delivery was answered before it was kept');
    kept.resolve();
    assert.ok((await answer).status < 300);
  });
}

async function takesAgain(options: Parameters<Trial>[0]): Promise<void> {
  const bench = await Bench.set(options);
  let isDown = true;
  const kept: IncomingMessage[] = [];
  const enqueue = async (messages: readonly IncomingMessage[]) => {
    if (isDown) throw new RecordedProblem('unavailable', 'the store is out of reach');
    kept.push(...messages);
  };
  await withChannel(bench, { start: true, members: { enqueue } }, async (open) => {
    const { status } = await open.deliver(bench.delivery({}));
    assert.equal(status, 503, 'the answer to what could not be kept');
    isDown = false;
    await open.take(bench.delivery({}));
    assert.equal(kept.length, 1, 'what comes again is taken');
  });
}

/** The message of each event, in order; each makes one, and they come in deliveries of their own. */
async function taken<Events extends Partial<SimulatedEvent>[]>(
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
  assert.ok(message && more.length === 0, 'one message comes of one that was written');
  return message;
}
