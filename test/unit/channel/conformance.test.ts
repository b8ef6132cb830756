import { createHmac, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import webchat from '../../../plugins/webchat/index.ts';
import { type ConformanceOptions, channelConformance } from '../../../src/channel/conformance.ts';
import type {
  Channel,
  ChannelPlugin,
  ChannelRequest,
  ChannelScope,
  DeliveryFailure,
  IncomingMessage,
  OutgoingReply,
  SecretValue,
} from '../../../src/channel/index.ts';
import courier from '../../fixtures/courier.ts';

const LOST = { outcome: 'failed', detail: 'lost', advice: 'Look for it.' } as const;

/** The sample with one thing broken: what it does, or what it asks of its scope. */
function broken(
  change: (channel: Channel, scope: ChannelScope) => Partial<Channel>,
  inScope: (scope: ChannelScope) => Partial<ChannelScope> = () => ({}),
): ChannelPlugin {
  return {
    ...courier,
    create(scope) {
      const channel = courier.create({ ...scope, ...inScope(scope) });
      return { ...channel, ...change(channel, scope) };
    },
  };
}

const inScope = (change: (scope: ChannelScope) => Partial<ChannelScope>) => broken(() => ({}), change);

/** Takes requests otherwise. */
function taking(
  handle: (
    request: ChannelRequest,
    right: (request: ChannelRequest) => Promise<void>,
    scope: ChannelScope,
  ) => Promise<void>,
): ChannelPlugin {
  return broken((channel, scope) => {
    const [route] = channel.routes;
    if (!route) throw new Error('the sample has a route');
    const right = async (request: ChannelRequest) => void (await route.handle(request));
    const answer = async (request: ChannelRequest) => {
      await handle(request, right, scope);
      return { status: 200 };
    };
    return { routes: [{ ...route, handle: answer }] };
  });
}

/** Hands over messages otherwise. */
const accepting = (change: (message: IncomingMessage, scope: ChannelScope) => Partial<IncomingMessage>) =>
  inScope((scope) => ({
    enqueue: (messages, request) =>
      scope.enqueue(
        messages.map((message) => ({ ...message, ...change(message, scope) })),
        request,
      ),
  }));

/** Sends otherwise. */
const sending = (
  send: (
    reply: OutgoingReply,
    right: (reply: OutgoingReply) => Promise<void>,
    scope: ChannelScope,
  ) => Promise<void>,
) =>
  broken((channel, scope) => ({
    send: (reply) => send(reply, async (other) => channel.send?.(other), scope),
  }));

/** Calls the platform otherwise. */
const calling = (
  call: (right: () => Promise<Response>, scope: ChannelScope, init: RequestInit) => Promise<Response>,
) =>
  inScope((scope) => ({
    fetch: (input, init = {}) => call(() => scope.fetch(input, init), scope, init),
  }));

function secretOf({ settings }: ChannelScope, name: 'COURIER_SEAL' | 'COURIER_TOKEN'): string {
  return (settings[name] as SecretValue).reveal();
}

function letters(request: ChannelRequest): { id: string; text: string }[] {
  return request.json().letters as { id: string; text: string }[];
}

/** Sent by any copy of the channel. */
const sent = new Set<string>();
let number = 0;

const DEFECTS: readonly [what: string, plugin: ChannelPlugin, noticed: readonly string[]][] = [
  [
    'acknowledges whatever comes',
    taking((request, right) => right(request).catch(() => {})),
    [
      'refuses what is signed with another secret, whatever it is',
      'refuses a delivery without the headers that prove it',
      'takes what comes again after it could not be kept',
    ],
  ],
  [
    'believes every seal',
    taking((request, right, scope) => {
      const seal = createHmac('sha256', secretOf(scope, 'COURIER_SEAL')).update(request.body).digest('hex');
      return right({ ...request, headers: { ...request.headers, 'x-courier-seal': seal } });
    }),
    [
      'refuses what is signed with another secret, whatever it is',
      'refuses a delivery without the headers that prove it',
      'refuses a signed body of which one byte was altered',
      'looks at no body before its signature',
    ],
  ],
  [
    'reads a body before its signature',
    taking((request, right) => {
      request.json();
      return right(request);
    }),
    ['looks at no body before its signature'],
  ],
  [
    'trusts what is signed',
    taking(async (request, right) => {
      await right(request);
      for (const { id, text } of letters(request)) `${id.trim()}${text.trim()}`;
    }),
    ['survives signed bodies of any form'],
  ],
  [
    'fails where there is nothing for it',
    taking(async (request, right) => {
      await right(request);
      if (letters(request).length === 0) throw new Error('no letters');
    }),
    ['acknowledges what is no text'],
  ],
  [
    'answers before it has kept',
    inScope((scope) => ({
      async enqueue(messages, request) {
        scope.enqueue(messages, request).catch(() => {});
      },
    })),
    ['answers 200 only when what it took is kept', 'takes what comes again after it could not be kept'],
  ],
  [
    'remembers what it could not keep',
    taking(async (request, right) => {
      const [{ id = '' } = {}] = letters(request);
      if (sent.has(id)) return;
      sent.add(id);
      await right(request).finally(() => setImmediate(() => sent.delete(id)));
    }),
    ['takes what comes again after it could not be kept'],
  ],
  [
    'hands over what its people write as it comes',
    taking(async (request, right, scope) => {
      await right(request);
      const place = { channel_id: 'ada', thread_id: 'courier:home:ada', reply_to: { to: 'home:ada' } };
      const message = { platform: 'courier', user_id: 'ada', ...place, metadata: {}, message_id: 'letter' };
      const [{ text } = { text: 'none' }] = letters(request);
      await scope.enqueue([{ ...message, text }], request);
    }),
    ['survives signed bodies of any form', 'survives texts that are too long, empty or broken'],
  ],
  [
    'changes the text of an edit',
    inScope((scope) => ({ edit: (message_id, text) => scope.edit(message_id, `${text}!`) })),
    ['takes an edit for no new message'],
  ],
  [
    'cuts long texts',
    accepting(({ text }) => ({ text: text.slice(0, 1000) })),
    ['takes a text of 16,000 characters whole'],
  ],
  [
    'names a thread that is not its own',
    accepting(() => ({ thread_id: 'hall' })),
    ['takes what a person writes, alone with it and in a room'],
  ],
  [
    'names deliveries rather than messages',
    accepting(() => ({ message_id: `letter-${number++}` })),
    [
      'names a repeated message alike, and another one otherwise',
      'keeps the id, thread and time of messages that come out of order',
    ],
  ],
  [
    'names all messages alike',
    accepting(() => ({ message_id: 'letter' })),
    ['names a repeated message alike, and another one otherwise'],
  ],
  [
    'tells when a message came, not when it was written',
    accepting(() => ({ sent_at: Date.now() })),
    ['keeps the id, thread and time of messages that come out of order'],
  ],
  [
    'puts everybody into one thread',
    accepting(() => ({ thread_id: 'courier:all' })),
    ['keeps people and rooms apart'],
  ],
  [
    'does not say that others read along',
    accepting(() => ({ shared: false })),
    ['takes what a person writes, alone with it and in a room'],
  ],
  [
    'puts its token where the reply goes',
    accepting((_message, scope) => ({
      reply_to: { to: 'home:ada', token: secretOf(scope, 'COURIER_TOKEN') },
    })),
    ['takes what a person writes, alone with it and in a room'],
  ],
  [
    'takes an edit for a message',
    inScope((scope) => ({
      async edit(message_id, text) {
        const place = { channel_id: 'ada', thread_id: 'courier:home:ada', reply_to: { to: 'home:ada' } };
        await scope.enqueue([
          { platform: 'courier', user_id: 'ada', ...place, text, metadata: {}, message_id },
        ]);
        return true;
      },
    })),
    ['takes an edit for no new message'],
  ],
  [
    'takes everything for sent',
    sending((reply, right) => right(reply).catch(() => {})),
    [
      'takes a status 400 for final',
      'lets a platform that has failed be tried again',
      'lets a platform that is down be tried again',
      'hands on how long a platform wants it to wait',
      'lets a network that has failed be tried again',
      'goes on where a long reply broke off',
    ],
  ],
  [
    'never gives up',
    sending((reply, right, scope) =>
      right(reply).catch((error: Error) => {
        throw scope.deliveryFailed(error.message, { final: false });
      }),
    ),
    ['takes a status 400 for final', 'hands on how long a platform wants it to wait'],
  ],
  [
    'does not tell a platform that is away from a reply that is refused',
    sending((reply, right, scope) =>
      right(reply).catch((error: Error & DeliveryFailure) => {
        const { final, retryAfterSeconds } = error;
        throw scope.deliveryFailed(error.message, {
          final,
          ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
        });
      }),
    ),
    [
      'lets a platform that has failed be tried again',
      'lets a platform that is down be tried again',
      'lets a network that has failed be tried again',
      'says that its credentials are refused',
    ],
  ],
  [
    'gives up at once',
    sending((reply, right, scope) =>
      right(reply).catch((error: Error) => {
        throw scope.deliveryFailed(error.message, { final: true });
      }),
    ),
    [
      'lets a platform that has failed be tried again',
      'lets a platform that is down be tried again',
      'hands on how long a platform wants it to wait',
      'lets a platform that asks to wait be tried again',
      'lets a network that has failed be tried again',
      'takes answers that are none of the platform for no refusal',
    ],
  ],
  [
    'takes what is no JSON for a refusal',
    calling(async (right) => {
      const response = await right();
      const text = await response.text();
      return new Response('{}', { status: text.startsWith('{') ? response.status : 400 });
    }),
    ['takes answers that are none of the platform for no refusal'],
  ],
  [
    'logs errors of the network as they are',
    calling((right, scope) =>
      right().catch((err: unknown) => {
        scope.log.warn({ err }, 'the office could not be reached');
        throw err;
      }),
    ),
    ['tells nothing of a request that could not be sent'],
  ],
  [
    'throws errors of the network as they are',
    sending(async (reply, right, scope) => {
      await right(reply).catch((error: Error) => {
        throw new Error(`${error.message} with ${secretOf(scope, 'COURIER_TOKEN')}`);
      });
    }),
    ['tells nothing of a request that could not be sent', 'lets a platform that is down be tried again'],
  ],
  [
    'waits for ever',
    inScope((scope) => ({
      fetch: (input, init) => scope.fetch(input, { ...init, signal: new AbortController().signal }),
    })),
    ['gives up a platform that hangs'],
  ],
  [
    'goes wherever it is sent',
    inScope((scope) => ({ fetch: (input, init) => scope.fetch(input, { ...init, redirect: 'follow' }) })),
    ['follows the platform to no other address'],
  ],
  [
    'never recovers',
    broken((channel) => {
      let latest = channel.health?.() ?? { status: 'ok' };
      const health = () => {
        if (latest.status === 'ok') latest = channel.health?.() ?? latest;
        return latest;
      };
      return { health };
    }),
    ['says that its credentials are refused'],
  ],
  [
    'reads answers whole',
    calling(async (right) => {
      const response = await right();
      return new Response(await response.text(), response);
    }),
    ['reads no more of an answer than it must'],
  ],
  [
    'cuts long replies',
    sending((reply, right) => right({ ...reply, text: reply.text.slice(0, 400) })),
    ['sends a long reply whole'],
  ],
  [
    'begins a long reply anew',
    sending((reply, right) => right({ ...reply, id: randomUUID() })),
    ['goes on where a long reply broke off'],
  ],
  [
    'sends a reply once only, whatever became of it',
    sending(async (reply, right) => {
      if (sent.has(reply.id)) return;
      sent.add(reply.id);
      await right(reply);
    }),
    ['sends a reply again when it is made anew'],
  ],
  [
    'is always well',
    broken(() => ({ health: () => ({ status: 'ok' }) })),
    ['says that its credentials are refused'],
  ],
  [
    'tells its token when asked how it is',
    broken((_channel, scope) => ({
      health: () => ({ status: 'degraded', detail: secretOf(scope, 'COURIER_TOKEN') }),
    })),
    ['says how it is, without waiting', 'says that its credentials are refused'],
  ],
  [
    'finds its credentials good, whatever they are',
    broken(() => ({ check: async () => ({ outcome: 'ok', detail: 'all is well' }) })),
    [
      'is told by the platform that its credentials are refused',
      'says so where the platform cannot tell of its credentials',
    ],
  ],
  [
    'tells its token when its credentials are checked',
    broken((channel, scope) => ({
      async check() {
        const found = await channel.check?.();
        return found?.outcome === 'ok' ? found : { ...LOST, detail: secretOf(scope, 'COURIER_TOKEN') };
      },
    })),
    [
      'is told by the platform that its credentials are refused',
      'says so where the platform cannot tell of its credentials',
    ],
  ],
  [
    'writes to somebody to see whether it can',
    broken((channel) => ({
      async check() {
        await channel
          .send?.({ id: 'check', session_id: null, text: 'Hello?', reply_to: { to: 'ada' } })
          .catch(() => {});
        return (await channel.check?.()) ?? LOST;
      },
    })),
    ['is told by the platform that its credentials are good'],
  ],
  [
    'throws where the platform says nothing of its credentials',
    broken((channel, scope) => ({
      async check() {
        await scope.fetch('http://127.0.0.1:9/me').catch((error) => {
          if (error.name === 'TimeoutError') throw error;
        });
        return (await channel.check?.()) ?? LOST;
      },
    })),
    ['says so where the platform cannot tell of its credentials'],
  ],
  [
    'tells its token when typing fails',
    broken((_channel, scope) => ({
      typing: () => Promise.reject(new Error(secretOf(scope, 'COURIER_TOKEN'))),
    })),
    ['shows typing, or fails to, and sends'],
  ],
  [
    'does not stop',
    broken(() => ({ stop: () => Promise.reject(new Error('it was never started')) })),
    ['stops without having been started, and after it'],
  ],
];

/** Of these cases, those that fail. */
async function failing(options: ConformanceOptions, names: readonly string[]): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of channelConformance(options)) {
    const short = name.slice(options.plugin.name.length + 2);
    if (names.includes(short)) await run().catch(() => failed.push(short));
  }
  return failed;
}

const letter = (id: string) => ({ id, from: 'ada', text: `letter ${id}` });

async function sealed(body: string) {
  const simulator = await courier.simulator?.();
  const settings = { COURIER_SEAL: { reveal: () => 'the seal of this test' } };
  const request = simulator?.sign?.({ method: 'POST', path: '/courier', headers: {}, body }, settings);
  if (!request) throw new Error('the sample signs');
  return { settings, request };
}

const { settings, request: batch } = await sealed(JSON.stringify({ letters: [letter('1'), letter('2')] }));
const options: ConformanceOptions = {
  plugin: courier,
  settings,
  messages: [{ request: batch, expect: [{ message_id: '1' }, { message_id: '2' }] }],
};

describe('a channel of a third party', () => {
  for (const { name, run } of channelConformance(options)) it(name, run);
});

describe('a channel that has no groups', () => {
  /** Its platform knows no rooms: a delivery from one would be a mistake of the suite. */
  const plugin: ChannelPlugin = {
    ...courier,
    capabilities: { ...courier.capabilities, groups: false },
    async simulator() {
      const simulator = await courier.simulator?.();
      if (!simulator) throw new Error('the sample has a simulator');
      return {
        ...simulator,
        delivery(event, given) {
          if (event.place === 'group') throw new Error('this platform has no groups');
          return simulator.delivery(event, given);
        },
      };
    },
  };
  for (const { name, run } of channelConformance({ plugin })) it(name, run);

  it('must not say that others read along', async () => {
    const sharing = { ...accepting(() => ({ shared: true })), capabilities: plugin.capabilities };
    const name = 'takes what a person writes, alone with it and in a room';
    expect(await failing({ plugin: sharing }, [name])).toEqual([name]);
  });
});

describe('a case that fails', () => {
  async function messageOf(plugin: ChannelPlugin, name: string): Promise<string> {
    const found = channelConformance({ plugin }).find((one) => one.name === `courier: ${name}`);
    const error = await found?.run().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    return (error as Error).message;
  }

  it('shows the delivery that it failed on, with the event that it was made of', async () => {
    const plugin = accepting(() => ({ shared: false }));
    const message = await messageOf(plugin, 'takes what a person writes, alone with it and in a room');
    expect(message).toMatch(/^shared, of a message in a group place\n/);
    expect(message).toContain(
      'a delivery of the event {"kind":"message","user":"ada","text":"Good morning."',
    );
    expect(message).toContain('"place":"group"');
    expect(message).toMatch(/POST \/courier \{"letters":\[\{"id":"[^"]+"/);
    expect(message).toMatch(/answer: 20\d$/);
  });

  it('shows the call to the platform that it failed on, with its answer', async () => {
    const plugin = sending((reply, right) => right(reply).catch(() => {}));
    const message = await messageOf(plugin, 'lets a platform that has failed be tried again');
    expect(message).toContain('- a call to the platform\n  POST /');
    expect(message).toContain('Good **morning**.');
    expect(message).toMatch(/answer: 500$/);
  });

  it('shows what the channel threw, and where, and of a long body its beginning', async () => {
    const plugin = taking(async (request, right) => {
      await right(request);
      if (request.body.length > 10_000) throw new RangeError('too long for us');
    });
    const name = 'takes a text of 16,000 characters whole';
    const message = await messageOf(plugin, name);
    expect(message).toMatch(/^too long for us\n/);
    expect(message).toContain('answer: RangeError: too long for us');
    expect(message).toMatch(/x… \(16\d{3} characters\)/);
    const found = channelConformance({ plugin }).find((one) => one.name === `courier: ${name}`);
    await expect(found?.run()).rejects.toMatchObject({
      cause: { name: 'RangeError', stack: expect.stringContaining('conformance.test.ts') },
    });
  });
});

describe('the suite notices a channel that', () => {
  it.each(DEFECTS)('%s', async (_what, plugin, noticed) => {
    sent.clear();
    expect((await failing({ plugin }, noticed)).sort()).toEqual([...noticed].sort());
  });

  it('keeps a delivery piece by piece', async () => {
    const plugin = inScope((scope) => ({
      async enqueue(messages, request) {
        for (const message of messages) await scope.enqueue([message], request);
      },
    }));
    const name = 'parses delivery 1 into 2 message(s)';
    expect(await failing({ ...options, plugin }, [name])).toEqual([name]);
  });

  it('answers in the request what the daemon refuses', async () => {
    const plugin: ChannelPlugin = {
      ...webchat,
      create: (scope) =>
        webchat.create({
          ...scope,
          async *converse(message, request) {
            try {
              yield* scope.converse(message, request);
            } catch {
              yield { type: 'complete', session_id: 's', response: 'Sorry.', replayed: false };
            }
          },
        }),
    };
    const path = '/webchat/message';
    const body = JSON.stringify({ user_id: 'ada', message: 'Hi' });
    const name = 'lets pass what the daemon refuses';
    const messages = [{ request: { path, body }, expect: [{ text: 'Hi' }] }];
    const inRequest = { settings: { WEBCHAT_ENABLED: true, WEBCHAT_WEBHOOK_PATH: path }, messages };
    expect(await failing({ ...inRequest, plugin: webchat }, [name])).toEqual([]);
    expect(await failing({ ...inRequest, plugin }, [name])).toEqual([name]);
  });
});
