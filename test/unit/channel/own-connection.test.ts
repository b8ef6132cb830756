import { describe, expect, it, onTestFinished } from 'vitest';
import { recordingScope } from '../../../src/channel/conformance/recording-scope.ts';
import { channelConformance } from '../../../src/channel/conformance.ts';
import type { IncomingMessage, PushChannel, PushPlugin } from '../../../src/channel/index.ts';
import { channelProblems } from '../../../src/daemon/channels/create-channels.ts';
import { simulatedRoutes } from '../../../src/daemon/channels/simulator.ts';
import postBox from '../../fixtures/post-box.ts';

const SETTINGS = {
  COURIER_API_URL: 'http://office.invalid',
  COURIER_SEAL: { reveal: () => 'seal' },
  COURIER_TOKEN: { reveal: () => 'token' },
};
const letter = (id: string) => JSON.stringify({ letters: [{ id, from: 'ada', text: 'Good morning.' }] });

describe('the conformance suite, for a channel without a webhook', () => {
  const cases = channelConformance({ plugin: postBox });

  for (const { name, run } of cases) it(name, run);

  it('has the cases about deliveries and replies, and none about signatures', () => {
    const names = cases.map(({ name }) => name.slice('courier: '.length));
    expect(names).toContain('answers 200 only after the message is stored');
    expect(names).toContain('enqueues a message that is delivered again because it could not be stored');
    expect(names.filter((name) => /signature|signed/.test(name))).toEqual([]);
  });

  const failing = async (plugin: PushPlugin) => {
    const failed: string[] = [];
    for (const { name, run } of channelConformance({ plugin }))
      await run().catch(() => failed.push(name.slice('courier: '.length)));
    return failed;
  };
  const creating = (change: (channel: PushChannel) => PushChannel): PushPlugin => ({
    ...postBox,
    create: (scope) => change(postBox.create(scope)),
  });

  it('finds a channel that resolves before the message is stored', async () => {
    const early = creating((channel) => ({
      ...channel,
      receive: async (update) => void channel.receive?.(update).catch(() => {}),
    }));
    expect(await failing(early)).toEqual([
      'answers 200 only after the message is stored',
      'enqueues a message that is delivered again because it could not be stored',
    ]);
  });

  it('finds a channel that has no `receive`', async () => {
    expect(await failing(creating(({ receive: _missing, ...channel }) => channel))).toContain(
      'enqueues messages from direct conversations and from groups',
    );
  });
});

it('a channel without a webhook acknowledges an update only after it is stored', async () => {
  const box = [letter('a'), letter('b')];
  const calls: string[] = [];
  const stored: IncomingMessage[] = [];
  const storing = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const emptied = Promise.withResolvers<void>();
  const scope = recordingScope('courier', SETTINGS, {
    async fetch(_input, init) {
      calls.push(init?.method ?? 'GET');
      if (init?.method === 'DELETE') box.shift();
      if (box.length === 0) emptied.resolve();
      return box[0] === undefined ? new Response(null, { status: 204 }) : new Response(box[0]);
    },
    async enqueue(messages) {
      asked.resolve();
      await storing.promise;
      stored.push(...messages);
      return messages.map(() => 'kept');
    },
  });
  const channel = postBox.create(scope);
  onTestFinished(() => channel.stop?.());
  await channel.start?.();
  await asked.promise;
  expect([calls, box.length]).toEqual([['GET'], 2]);
  storing.resolve();
  await emptied.promise;
  expect(stored.map(({ message_id }) => message_id)).toEqual(['a', 'b']);
  expect(calls.slice(0, 4)).toEqual(['GET', 'DELETE', 'GET', 'DELETE']);
});

describe('a channel with `capabilities.webhook: false`', () => {
  it('must have `receive`', () => {
    const channel = { routes: [], send: async () => {} };
    expect(channelProblems(postBox, channel).map(({ problem }) => problem)).toEqual([
      expect.stringContaining('`receive`'),
    ]);
    expect(channelProblems(postBox, { ...channel, receive: async () => {} })).toEqual([]);
  });

  it('takes updates of `agentd simulate` under `serve --dev`, and none of a page', async () => {
    const taken: string[] = [];
    const channel = {
      routes: [],
      send: async () => undefined,
      async receive(update: Uint8Array) {
        taken.push(Buffer.from(update).toString());
      },
    };
    const [route] = simulatedRoutes({ plugin: postBox, channel });
    expect(route).toMatchObject({ method: 'POST', path: '/simulate/courier' });
    const request = (headers: Record<string, string>) =>
      ({ headers, body: Buffer.from('an update') }) as unknown as Parameters<
        NonNullable<typeof route>['handle']
      >[0];
    expect(await route?.handle(request({ 'x-agentd-simulated': '1' }))).toEqual({ status: 200 });
    await expect(route?.handle(request({}))).rejects.toMatchObject({ code: 'invalid_signature' });
    expect(taken).toEqual(['an update']);
  });

  it('is the only kind of channel that gets that route', () => {
    const plugin = { ...postBox, capabilities: { ...postBox.capabilities, webhook: true } };
    expect(simulatedRoutes({ plugin, channel: { routes: [] } })).toEqual([]);
  });
});
