import assert from 'node:assert/strict';
import type { IncomingMessage } from '../index.ts';
import { Bench } from './bench.ts';
import { withChannel } from './open-channel.ts';
import type { ConformanceOptions, SampleRequest, Trial, TrialOptions } from './options.ts';
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
      (options) => parses(options, request, expect),
    ]),
    ...refused.map(({ title, request, code }): [string, Trial] => [
      `refuses ${title} with ${code}`,
      (options) => refuses(options, request, code),
    ]),
    ...(isPush && withMessages.length > 0 ? pushCases(withMessages) : []),
    ...(!isPush && withMessages.length > 0 ? directCases(withMessages) : []),
  ];
}

function pushCases(requests: readonly SampleRequest[]): [string, Trial][] {
  return [
    [
      'does not answer 200 to a delivery that could not be stored',
      (options) => answersUnavailable(options, requests),
    ],
    ['gives a repeated delivery the same message_id', (options) => namesRepeatsAlike(options, requests)],
  ];
}

function directCases(requests: readonly SampleRequest[]): [string, Trial][] {
  return [['passes on the problems of the daemon', (options) => passesOnProblems(options, requests)]];
}

async function parses(
  options: TrialOptions,
  request: SampleRequest,
  expect: readonly Partial<IncomingMessage>[],
): Promise<void> {
  await withChannel(await Bench.set(options), {}, async (open) => {
    await open.take(request);
    const { enqueued } = open.scope;
    assert.equal(enqueued.length, expect.length, `the delivery must make ${expect.length} message(s)`);
    if (options.plugin.delivery === 'push')
      assert.ok(open.batches.length <= 1, 'all messages of a delivery must be enqueued in one call');
    enqueued.forEach((message, index) => {
      for (const [field, value] of Object.entries(expect[index] ?? {})) {
        assert.deepEqual(message[field as keyof IncomingMessage], value, field);
      }
    });
  });
}

async function refuses(options: TrialOptions, request: SampleRequest, code: string): Promise<void> {
  await withChannel(await Bench.set(options), {}, async (open) => {
    assert.equal((await open.deliver(request)).code, code, 'code of the problem');
    assert.equal(open.scope.enqueued.length, 0, 'a refused request must enqueue no message');
  });
}

async function answersUnavailable(options: TrialOptions, requests: readonly SampleRequest[]): Promise<void> {
  const enqueue = () => Promise.reject(new RecordedProblem('unavailable', 'the store cannot be reached'));
  await withChannel(await Bench.set(options), { members: { enqueue } }, async (open) => {
    for (const request of requests) assert.equal((await open.deliverOnce(request)).status, 503);
  });
}

async function namesRepeatsAlike(options: TrialOptions, requests: readonly SampleRequest[]): Promise<void> {
  await withChannel(await Bench.set(options), {}, async (open) => {
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

async function passesOnProblems(options: TrialOptions, requests: readonly SampleRequest[]): Promise<void> {
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
  await withChannel(await Bench.set(options), { members }, async (open) => {
    for (const request of requests)
      assert.equal((await open.deliver(request)).code, 'session_forbidden', 'code of the problem');
  });
}
