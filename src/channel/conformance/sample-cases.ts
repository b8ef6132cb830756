import assert from 'node:assert/strict';
import type { IncomingMessage } from '../index.ts';
import { Bench } from './bench.ts';
import { hostileBodies } from './hostile-bodies.ts';
import { withChannel } from './open-channel.ts';
import type { ConformanceOptions, SampleRequest, Trial, TrialOptions } from './options.ts';
import { RecordedProblem } from './recorded-errors.ts';

/** What becomes of the deliveries that the options name. */
export function sampleCases({
  plugin,
  messages = [],
  refused = [],
}: ConformanceOptions): readonly [name: string, trial: Trial][] {
  const isPush = plugin.capabilities.delivery === 'push';
  const holding = messages.filter(({ expect }) => expect.length > 0).map(({ request }) => request);
  return [
    ...messages.map(({ request, expect }, index): [string, Trial] => [
      `parses delivery ${index + 1} into ${expect.length} message(s)`,
      (options) => parses(options, request, expect),
    ]),
    ...refused.map(({ title, request, code }): [string, Trial] => [
      `refuses ${title} with ${code}`,
      (options) => refuses(options, request, code),
    ]),
    ...(isPush && holding.length > 0 ? laterCases(holding) : []),
    ...(!isPush && holding.length > 0 ? inRequestCases(holding) : []),
  ];
}

function laterCases(holding: readonly SampleRequest[]): [string, Trial][] {
  return [
    ['does not say 200 to a delivery that was not kept', (options) => keepsFirst(options, holding)],
    ['names a repeated delivery alike', (options) => namesRepeatsAlike(options, holding)],
  ];
}

function inRequestCases(holding: readonly SampleRequest[]): [string, Trial][] {
  return [
    ['lets pass what the daemon refuses', (options) => letsProblemsPass(options, holding)],
    ['survives bodies of any form', (options) => survivesBodies(options, holding)],
  ];
}

async function parses(
  options: TrialOptions,
  request: SampleRequest,
  expect: readonly Partial<IncomingMessage>[],
): Promise<void> {
  await withChannel(await Bench.set(options), {}, async (open) => {
    await open.take(request);
    const { enqueued } = open.scope;
    assert.equal(enqueued.length, expect.length, 'number of messages');
    if (options.plugin.capabilities.delivery === 'push')
      assert.ok(open.batches.length <= 1, 'the messages of a delivery are kept together, or none of them');
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
    assert.equal(open.scope.enqueued.length, 0, 'nothing of it gets through');
  });
}

async function keepsFirst(options: TrialOptions, holding: readonly SampleRequest[]): Promise<void> {
  const enqueue = () => Promise.reject(new RecordedProblem('unavailable', 'the store is out of reach'));
  await withChannel(await Bench.set(options), { members: { enqueue } }, async (open) => {
    for (const request of holding) assert.equal((await open.deliverOnce(request)).status, 503);
  });
}

async function namesRepeatsAlike(options: TrialOptions, holding: readonly SampleRequest[]): Promise<void> {
  await withChannel(await Bench.set(options), {}, async (open) => {
    for (const request of holding) {
      const idsOf = async () => {
        open.forget();
        await open.take(request);
        return open.scope.enqueued.map(({ message_id }) => message_id);
      };
      assert.deepEqual(await idsOf(), await idsOf(), 'message_id of a repeat');
    }
  });
}

async function letsProblemsPass(options: TrialOptions, holding: readonly SampleRequest[]): Promise<void> {
  const refuse = () => {
    throw new RecordedProblem('session_forbidden', 'the session is of somebody else');
  };
  const members = {
    // biome-ignore lint/correctness/useYield: it ends before its first event
    async *converse() {
      refuse();
    },
    streams: { start: async () => refuse(), open: async () => refuse(), stop: async () => refuse() },
  };
  await withChannel(await Bench.set(options), { members }, async (open) => {
    for (const request of holding)
      assert.equal((await open.deliver(request)).code, 'session_forbidden', 'code of the problem');
  });
}

async function survivesBodies(options: TrialOptions, holding: readonly SampleRequest[]): Promise<void> {
  await withChannel(await Bench.set(options), {}, async (open) => {
    for (const request of holding) {
      for (const { title, body } of hostileBodies(String(request.body))) {
        const { status } = await open.deliver({ ...request, body });
        assert.ok(status < 500, `${title} was answered ${status}`);
        open.look();
        open.forget();
      }
    }
  });
}
