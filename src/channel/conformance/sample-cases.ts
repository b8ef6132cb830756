import assert from 'node:assert/strict';
import type { IncomingMessage } from '../index.ts';
import type { Bench } from './bench.ts';
import { withChannel } from './open-channel.ts';
import type { ConformanceOptions, SampleRequest, Trial } from './options.ts';
import { RecordedProblem } from './recording-scope.ts';

/** Cases that are made from the requests in the options. */
export function sampleCases({
  plugin,
  messages = [],
  refused = [],
}: ConformanceOptions): readonly [name: string, trial: Trial][] {
  const isPush = plugin.delivery === 'push';
  const withMessages = messages.filter(({ expect }) => expect.length > 0).map(({ request }) => request);
  return [
    ...messages.map(({ request, expect }, index): [string, Trial] => [
      `parses delivery ${index + 1} into ${expect.length} message(s)`,
      (bench) => parses(bench, request, expect),
    ]),
    ...refused.map(({ title, request, code }): [string, Trial] => [
      `refuses ${title} with ${code}`,
      (bench) => refuses(bench, request, code),
    ]),
    ...(isPush && withMessages.length > 0 ? pushCases(withMessages) : []),
    ...(!isPush && withMessages.length > 0 ? directCases(withMessages) : []),
  ];
}

function pushCases(requests: readonly SampleRequest[]): [string, Trial][] {
  return [
    [
      'does not answer 200 to a delivery that could not be stored',
      (bench) => answersUnavailable(bench, requests),
    ],
    ['gives a repeated delivery the same message_id', (bench) => namesRepeatsAlike(bench, requests)],
  ];
}

function directCases(requests: readonly SampleRequest[]): [string, Trial][] {
  return [['passes on the problems of the daemon', (bench) => passesOnProblems(bench, requests)]];
}

async function parses(
  bench: Bench,
  request: SampleRequest,
  expect: readonly Partial<IncomingMessage>[],
): Promise<void> {
  await withChannel(bench, {}, async (open) => {
    await open.take(request);
    const { enqueued } = open.scope;
    assert.equal(enqueued.length, expect.length, `the delivery must make ${expect.length} message(s)`);
    if (bench.plugin.delivery === 'push')
      assert.ok(open.batches.length <= 1, 'all messages of a delivery must be enqueued in one call');
    enqueued.forEach((message, index) => {
      for (const [field, value] of Object.entries(expect[index] ?? {})) {
        assert.deepEqual(message[field as keyof IncomingMessage], value, field);
      }
    });
  });
}

async function refuses(bench: Bench, request: SampleRequest, code: string): Promise<void> {
  await withChannel(bench, {}, async (open) => {
    assert.equal((await open.deliver(request)).code, code, 'code of the problem');
    assert.equal(open.scope.enqueued.length, 0, 'a refused request must enqueue no message');
  });
}

async function answersUnavailable(bench: Bench, requests: readonly SampleRequest[]): Promise<void> {
  const enqueue = () => Promise.reject(new RecordedProblem('unavailable', 'the store cannot be reached'));
  await withChannel(bench, { members: { enqueue } }, async (open) => {
    for (const request of requests) assert.equal((await open.deliverOnce(request)).status, 503);
  });
}

async function namesRepeatsAlike(bench: Bench, requests: readonly SampleRequest[]): Promise<void> {
  await withChannel(bench, {}, async (open) => {
    for (const request of requests) {
      const readIds = async () => {
        open.forget();
        await open.take(request);
        return open.scope.enqueued.map(({ message_id }) => message_id);
      };
      assert.deepEqual(await readIds(), await readIds(), 'a repeated delivery must have the same message_id');
    }
  });
}

async function passesOnProblems(bench: Bench, requests: readonly SampleRequest[]): Promise<void> {
  const refuse = () => {
    throw new RecordedProblem('session_forbidden', 'the session belongs to somebody else');
  };
  const members = {
    // biome-ignore lint/correctness/useYield: it throws before its first event
    async *converse() {
      refuse();
    },
    streams: { start: async () => refuse(), open: async () => refuse(), stop: async () => refuse() },
  };
  await withChannel(bench, { members }, async (open) => {
    for (const request of requests)
      assert.equal((await open.deliver(request)).code, 'session_forbidden', 'code of the problem');
  });
}
