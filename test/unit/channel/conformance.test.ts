import { createHmac, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import webchat from '../../../plugins/webchat/index.ts';
import type { ConformanceOptions } from '../../../src/channel/conformance.ts';
import type {
  ChannelRequest,
  DeliveryFailure,
  EnqueueOutcome,
  IncomingMessage,
  OutgoingReply,
  PushChannel,
  PushPlugin,
  PushScope,
  ResponsePlugin,
  SecretValue,
} from '../../../src/channel/index.ts';
import { allCases } from '../../contract/channel/all-cases.ts';
import courier from '../../fixtures/courier.ts';

const LOST = { outcome: 'failed', detail: 'lost', advice: 'Look for it.' } as const;

/** The sample channel with one defect, in its behavior or in its use of the scope. */
function broken(
  change: (channel: PushChannel, scope: PushScope) => Partial<PushChannel>,
  inScope: (scope: PushScope) => Partial<PushScope> = () => ({}),
): PushPlugin {
  return {
    ...courier,
    create(scope) {
      const channel = courier.create({ ...scope, ...inScope(scope) });
      return { ...channel, ...change(channel, scope) };
    },
  };
}

const inScope = (change: (scope: PushScope) => Partial<PushScope>) => broken(() => ({}), change);

/** The sample channel with another handler. `right` is the correct handler. */
function taking(
  handle: (
    request: ChannelRequest,
    right: (request: ChannelRequest) => Promise<void>,
    scope: PushScope,
  ) => Promise<void>,
): PushPlugin {
  return broken((channel, scope) => {
    const [route] = channel.routes;
    if (!route) throw new Error('the sample has no route');
    const right = async (request: ChannelRequest) => void (await route.handle(request));
    const answer = async (request: ChannelRequest) => {
      await handle(request, right, scope);
      return { status: 200 };
    };
    return { routes: [{ ...route, handle: answer }] };
  });
}

/** The sample channel, but it enqueues each message with these changes. */
const accepting = (change: (message: IncomingMessage, scope: PushScope) => Partial<IncomingMessage>) =>
  inScope((scope) => ({
    enqueue: (messages, request) =>
      scope.enqueue(
        messages.map((message) => ({ ...message, ...change(message, scope) })),
        request,
      ),
  }));

/** The sample channel with another way to send. `right` is the correct way. */
const sending = (
  send: (
    reply: OutgoingReply,
    right: (reply: OutgoingReply) => Promise<void>,
    scope: PushScope,
  ) => Promise<void>,
) =>
  broken((channel, scope) => ({
    send: (reply) => send(reply, async (other) => channel.send?.(other), scope),
  }));

/** The sample channel with another way to call the platform. `right` makes the unchanged call. */
const calling = (
  call: (right: () => Promise<Response>, scope: PushScope, init: RequestInit) => Promise<Response>,
) =>
  inScope((scope) => ({
    fetch: (input, init = {}) => call(() => scope.fetch(input, init), scope, init),
  }));

function readSecret({ settings }: PushScope, name: 'COURIER_SEAL' | 'COURIER_TOKEN'): string {
  return (settings[name] as SecretValue).reveal();
}

function letters(request: ChannelRequest): { id: string; text: string }[] {
  return request.json().letters as { id: string; text: string }[];
}

/** The ids of replies and messages that a defective channel remembers, across all of its instances. */
const sent = new Set<string>();
let number = 0;

const DEFECTS: readonly [what: string, plugin: PushPlugin, noticed: readonly string[]][] = [
  [
    'acknowledges every delivery',
    taking((request, right) => right(request).catch(() => {})),
    [
      'refuses deliveries that are signed with another secret',
      'refuses deliveries without a signature',
      'enqueues a message that is delivered again because it could not be stored',
    ],
  ],
  [
    'accepts every signature',
    taking((request, right, scope) => {
      const seal = createHmac('sha256', readSecret(scope, 'COURIER_SEAL')).update(request.body).digest('hex');
      return right({ ...request, headers: { ...request.headers, 'x-courier-seal': seal } });
    }),
    [
      'refuses deliveries that are signed with another secret',
      'refuses deliveries without a signature',
      'refuses a signed body after one byte has changed',
      'checks the signature before it reads the body',
    ],
  ],
  [
    'reads a body before it checks the signature',
    taking((request, right) => {
      request.json();
      return right(request);
    }),
    ['checks the signature before it reads the body'],
  ],
  [
    'trusts signed bodies',
    taking(async (request, right) => {
      await right(request);
      for (const { id, text } of letters(request)) `${id.trim()}${text.trim()}`;
    }),
    ['does not answer a hostile signed body with an internal error'],
  ],
  [
    'throws for a delivery without a message',
    taking(async (request, right) => {
      await right(request);
      if (letters(request).length === 0) throw new Error('no letters');
    }),
    ['acknowledges deliveries that are not text'],
  ],
  [
    'answers before the message is stored',
    inScope((scope) => ({
      async enqueue(messages, request) {
        scope.enqueue(messages, request).catch(() => {});
        return messages.map(() => 'kept');
      },
    })),
    [
      'answers 200 only after the message is stored',
      'enqueues a message that is delivered again because it could not be stored',
    ],
  ],
  [
    'remembers messages that could not be stored',
    taking(async (request, right) => {
      const [{ id = '' } = {}] = letters(request);
      if (sent.has(id)) return;
      sent.add(id);
      await right(request).finally(() => setImmediate(() => sent.delete(id)));
    }),
    ['enqueues a message that is delivered again because it could not be stored'],
  ],
  [
    'enqueues texts without a check',
    taking(async (request, right, scope) => {
      await right(request);
      const place = { channel_id: 'ada', thread_id: 'courier:home:ada', reply_to: { to: 'home:ada' } };
      const message = { platform: 'courier', user_id: 'ada', ...place, metadata: {}, message_id: 'letter' };
      const [{ text } = { text: 'none' }] = letters(request);
      await scope.enqueue([{ ...message, text }], request);
    }),
    [
      'does not answer a hostile signed body with an internal error',
      'does not answer a hostile text with an internal error',
    ],
  ],
  [
    'changes the text of an edit',
    inScope((scope) => ({ edit: (edited) => scope.edit({ ...edited, text: `${edited.text}!` }) })),
    ['does not enqueue an edit as a new message'],
  ],
  [
    'says that somebody else edited a message',
    inScope((scope) => ({ edit: (edited) => scope.edit({ ...edited, user_id: 'somebody' }) })),
    ['does not enqueue an edit as a new message'],
  ],
  [
    'names another thread in an edit',
    inScope((scope) => ({ edit: (edited) => scope.edit({ ...edited, thread_id: 'courier:else' }) })),
    ['does not enqueue an edit as a new message'],
  ],
  [
    'cuts long texts',
    accepting(({ text }) => ({ text: text.slice(0, 1000) })),
    ['enqueues a text of 16,000 characters unchanged'],
  ],
  [
    'uses the thread of another channel',
    accepting(() => ({ thread_id: 'hall' })),
    ['enqueues messages from direct conversations and from groups'],
  ],
  [
    'gives each delivery a new message_id',
    accepting(() => ({ message_id: `letter-${number++}` })),
    [
      'gives a repeated message the same message_id, and a different message a different message_id',
      'gives messages the same id, thread and time in any order of arrival',
    ],
  ],
  [
    'gives all messages the same message_id',
    accepting(() => ({ message_id: 'letter' })),
    ['gives a repeated message the same message_id, and a different message a different message_id'],
  ],
  [
    'reports when a message arrived, not when it was sent',
    accepting(() => ({ sent_at: Date.now() })),
    ['gives messages the same id, thread and time in any order of arrival'],
  ],
  [
    'uses one thread for everybody',
    accepting(() => ({ thread_id: 'courier:all' })),
    ['gives each person and each group a separate thread'],
  ],
  [
    'does not mark messages from groups as shared',
    accepting(() => ({ shared: false })),
    ['enqueues messages from direct conversations and from groups'],
  ],
  [
    'puts its token into reply_to',
    accepting((_message, scope) => ({
      reply_to: { to: 'home:ada', token: readSecret(scope, 'COURIER_TOKEN') },
    })),
    ['enqueues messages from direct conversations and from groups'],
  ],
  [
    'enqueues an edit as a new message',
    inScope((scope) => ({
      async edit({ message_id, text }) {
        const place = { channel_id: 'ada', thread_id: 'courier:home:ada', reply_to: { to: 'home:ada' } };
        await scope.enqueue([
          { platform: 'courier', user_id: 'ada', ...place, text, metadata: {}, message_id },
        ]);
        return true;
      },
    })),
    ['does not enqueue an edit as a new message'],
  ],
  [
    'ignores errors of the platform',
    sending((reply, right) => right(reply).catch(() => {})),
    [
      'reports status 400 as a final failure',
      'reports status 500 as an unreachable platform',
      'reports status 503 as an unreachable platform',
      'passes on Retry-After',
      'reports a network error as an unreachable platform',
      'continues a long reply at the part that failed',
    ],
  ],
  [
    'reports no failure as final',
    sending((reply, right, scope) =>
      right(reply).catch((error: Error) => {
        throw scope.deliveryFailed(error.message, { final: false });
      }),
    ),
    ['reports status 400 as a final failure', 'passes on Retry-After'],
  ],
  [
    'does not distinguish an unreachable platform from a refused reply',
    sending((reply, right, scope) =>
      right(reply).catch((error: Error & DeliveryFailure) => {
        const { final, retry_after_seconds } = error;
        throw scope.deliveryFailed(error.message, {
          final,
          ...(retry_after_seconds === undefined ? {} : { retry_after_seconds }),
        });
      }),
    ),
    [
      'reports status 500 as an unreachable platform',
      'reports status 503 as an unreachable platform',
      'reports a network error as an unreachable platform',
      'reports credentials that the platform refuses, and recovers',
    ],
  ],
  [
    'reports every failure as final',
    sending((reply, right, scope) =>
      right(reply).catch((error: Error) => {
        throw scope.deliveryFailed(error.message, { final: true });
      }),
    ),
    [
      'reports status 500 as an unreachable platform',
      'reports status 503 as an unreachable platform',
      'passes on Retry-After',
      'reports status 429 as a failure that allows a retry',
      'reports a network error as an unreachable platform',
      'does not report a failure as final because of a malformed answer',
    ],
  ],
  [
    'treats an answer that is not JSON as a refusal',
    calling(async (right) => {
      const response = await right();
      const text = await response.text();
      return new Response('{}', { status: text.startsWith('{') ? response.status : 400 });
    }),
    ['does not report a failure as final because of a malformed answer'],
  ],
  [
    'logs network errors unchanged',
    calling((right, scope) =>
      right().catch((err: unknown) => {
        scope.log.warn({ err }, 'the office could not be reached');
        throw err;
      }),
    ),
    ['keeps the request out of errors and logs if it cannot be sent'],
  ],
  [
    'throws network errors unchanged',
    sending(async (reply, right, scope) => {
      await right(reply).catch((error: Error) => {
        throw new Error(`${error.message} with ${readSecret(scope, 'COURIER_TOKEN')}`);
      });
    }),
    [
      'keeps the request out of errors and logs if it cannot be sent',
      'reports status 503 as an unreachable platform',
    ],
  ],
  [
    'waits forever for its platform',
    inScope((scope) => ({
      fetch: (input, init) => scope.fetch(input, { ...init, signal: new AbortController().signal }),
    })),
    ['gives up on a platform that does not answer'],
  ],
  [
    'follows redirects',
    inScope((scope) => ({ fetch: (input, init) => scope.fetch(input, { ...init, redirect: 'follow' }) })),
    ['does not follow a redirect to another address'],
  ],
  [
    'never reports that it has recovered',
    broken((channel) => {
      let latest = channel.health?.() ?? { status: 'ok' };
      const health = () => {
        if (latest.status === 'ok') latest = channel.health?.() ?? latest;
        return latest;
      };
      return { health };
    }),
    ['reports credentials that the platform refuses, and recovers'],
  ],
  [
    'reads answers of any length',
    calling(async (right) => {
      const response = await right();
      return new Response(await response.text(), response);
    }),
    ['reads at most 16 MiB of an answer'],
  ],
  [
    'cuts long replies',
    sending((reply, right) => right({ ...reply, text: reply.text.slice(0, 400) })),
    ['sends a long reply in full'],
  ],
  [
    'starts a long reply again from its first part',
    sending((reply, right) => right({ ...reply, id: randomUUID() })),
    ['continues a long reply at the part that failed'],
  ],
  [
    'never sends a reply a second time',
    sending(async (reply, right) => {
      if (sent.has(reply.id)) return;
      sent.add(reply.id);
      await right(reply);
    }),
    ['sends a reply again after a restart'],
  ],
  [
    'shows its token in its health',
    broken((_channel, scope) => ({
      health: () => ({ status: 'degraded', detail: readSecret(scope, 'COURIER_TOKEN') }),
    })),
    [
      'reports its health before it is started',
      'reports credentials that the platform refuses, and recovers',
    ],
  ],
  [
    'accepts all credentials in check()',
    broken(() => ({ check: async () => ({ outcome: 'ok', detail: 'all is well' }) })),
    [
      'check() reports credentials that the platform refuses',
      'check() reports a platform that gives no usable answer',
    ],
  ],
  [
    'shows its token in check()',
    broken((channel, scope) => ({
      async check() {
        const found = await channel.check?.();
        return found?.outcome === 'ok' ? found : { ...LOST, detail: readSecret(scope, 'COURIER_TOKEN') };
      },
    })),
    [
      'check() reports credentials that the platform refuses',
      'check() reports a platform that gives no usable answer',
    ],
  ],
  [
    'sends a message in check()',
    broken((channel) => ({
      async check() {
        await channel
          .send?.({ id: 'check', session_id: null, text: 'Hello?', reply_to: { to: 'ada' } })
          .catch(() => {});
        return (await channel.check?.()) ?? LOST;
      },
    })),
    ['check() accepts good credentials'],
  ],
  [
    'throws in check() if the platform gives no answer',
    broken((channel, scope) => ({
      async check() {
        await scope.fetch('http://127.0.0.1:9/me').catch((error) => {
          if (error.name === 'TimeoutError') throw error;
        });
        return (await channel.check?.()) ?? LOST;
      },
    })),
    ['check() reports a platform that gives no usable answer'],
  ],
  [
    'shows its token when typing fails',
    broken((_channel, scope) => ({
      typing: () => Promise.reject(new Error(readSecret(scope, 'COURIER_TOKEN'))),
    })),
    ['sends the reply, whether typing works or fails'],
  ],
  [
    'throws when it is stopped',
    broken(() => ({ stop: () => Promise.reject(new Error('it was never started')) })),
    ['stops, whether it was started or not'],
  ],
  [
    'has a member that the daemon refuses',
    { ...courier, texts: [{ name: 'lost', sentence: 'Who reads it.', default: 'Lost.' }] },
    ['matches contract version 1'],
  ],
  [
    'says how to sign in with a text that it does not list',
    {
      ...courier,
      linking: {
        argument: 'NAME',
        how: { name: 'courier_how', sentence: 'Who reads it.', default: 'Ask us.' },
        idsOf: (given) => (given === '' ? [] : [given]),
      },
    },
    ['matches contract version 1'],
  ],
  [
    'has a route that the daemon refuses',
    broken((channel) => ({ routes: channel.routes.map((route) => ({ ...route, path: 'courier' })) })),
    ['matches contract version 1'],
  ],
  [
    'finds no link of its users',
    {
      ...courier,
      linking: { argument: 'NAME', idsOf: (given) => (given === '' ? [] : [given.toUpperCase()]) },
    },
    ['names its users for links'],
  ],
  [
    'writes to somebody else in private',
    broken(() => ({
      privateChat: (user_id) => ({ to: `home:${user_id}` }),
      privateSession: () => ({ thread_id: 'courier:home:grace', channel_id: 'grace' }),
    })),
    ['reaches its users in a private chat'],
  ],
  [
    'promises a private chat',
    // TypeScript would refuse it; a plugin in JavaScript can do it.
    broken(() => ({ privateChat: (async () => ({ to: 'home:ada' })) as unknown as () => { to: string } })),
    ['reaches its users in a private chat'],
  ],
  [
    'gives a chat address that is none',
    broken(() => ({ chatUrl: () => '@courier' })),
    ['gives addresses that open a chat'],
  ],
  [
    'gives its messages numbers as ids',
    inScope((scope) => ({
      sendParts: (id, parts, sendPart) =>
        scope.sendParts(id, parts, async (...of) => {
          await sendPart(...of);
          return 1004;
        }),
    })),
    ['sends a reply'],
  ],
];

/** Returns the names of the given cases that fail. */
async function failing(options: ConformanceOptions, names: readonly string[]): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of allCases(options)) {
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
  if (!request) throw new Error('the sample does not sign');
  return { settings, request };
}

const { settings, request: batch } = await sealed(JSON.stringify({ letters: [letter('1'), letter('2')] }));
const options: ConformanceOptions = {
  plugin: courier,
  settings,
  messages: [{ request: batch, expect: [{ message_id: '1' }, { message_id: '2' }] }],
};

describe('a third-party channel', () => {
  for (const { name, run } of allCases(options)) it(name, run);
});

it('a channel may send several messages with one call', async () => {
  const plugin: PushPlugin = {
    ...broken((_channel, scope) => ({
      send: ({ id, text, reply_to }) =>
        scope.sendParts(
          id,
          () => [text],
          async (all) => {
            const body = JSON.stringify({ to: reply_to.to, text: all });
            const headers = { Authorization: `Bearer ${readSecret(scope, 'COURIER_TOKEN')}` };
            const { ok } = await scope.fetch('http://127.0.0.1:9/letters', { method: 'POST', headers, body });
            if (!ok) throw scope.deliveryFailed('refused', { final: false });
          },
        ),
    })),
    async simulator() {
      const simulator = await courier.simulator?.();
      if (!simulator) throw new Error('the sample has no simulator');
      return {
        ...simulator,
        startApi: () => ({
          answer({ body }) {
            const { to, text } = JSON.parse(Buffer.from(body).toString());
            const shown = text.match(/[\s\S]{1,480}(?:\s|$)/g) as string[];
            return { status: 200, body: {}, shown: shown.map((one) => ({ what: 'message', to, text: one })) };
          },
        }),
      };
    },
  };
  expect(await failing({ plugin }, ['continues a long reply at the part that failed'])).toEqual([]);
});

describe('a channel that has no groups', () => {
  /** The platform has no groups: the suite must not simulate a message from a group. */
  const plugin: PushPlugin = {
    ...courier,
    capabilities: { ...courier.capabilities, groups: false },
    async simulator() {
      const simulator = await courier.simulator?.();
      if (!simulator) throw new Error('the sample has no simulator');
      return {
        ...simulator,
        delivery(event, given) {
          if (event.place === 'group') throw new Error('this platform has no groups');
          return simulator.delivery(event, given);
        },
      };
    },
  };
  for (const { name, run } of allCases({ plugin })) it(name, run);

  it('is reported if it marks a message as shared', async () => {
    const sharing = { ...accepting(() => ({ shared: true })), capabilities: plugin.capabilities };
    const name = 'enqueues messages from direct conversations and from groups';
    expect(await failing({ plugin: sharing }, [name])).toEqual([name]);
  });
});

describe('the error of a failed case', () => {
  async function messageOf(plugin: PushPlugin, name: string): Promise<string> {
    const found = allCases({ plugin }).find((one) => one.name === `courier: ${name}`);
    const error = await found?.run().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    return (error as Error).message;
  }

  it('shows the latest delivery and its event', async () => {
    const plugin = accepting(() => ({ shared: false }));
    const message = await messageOf(plugin, 'enqueues messages from direct conversations and from groups');
    expect(message).toMatch(/^`shared` must be true for a message from a group conversation\n/);
    expect(message).toContain(
      'a delivery of the event {"kind":"message","user":"ada","text":"Good morning."',
    );
    expect(message).toContain('"place":"group"');
    expect(message).toMatch(/POST \/courier \{"letters":\[\{"id":"[^"]+"/);
    expect(message).toMatch(/answer: 20\d$/);
  });

  it('shows the latest call to the platform and its answer', async () => {
    const plugin = sending((reply, right) => right(reply).catch(() => {}));
    const message = await messageOf(plugin, 'reports status 500 as an unreachable platform');
    expect(message).toContain('- a call to the platform\n  POST /');
    expect(message).toContain('Good **morning**.');
    expect(message).toMatch(/answer: 500$/);
  });

  it('shows what the channel threw, and the beginning of a long body', async () => {
    const plugin = taking(async (request, right) => {
      await right(request);
      if (request.body.length > 10_000) throw new RangeError('too long for us');
    });
    const name = 'enqueues a text of 16,000 characters unchanged';
    const message = await messageOf(plugin, name);
    expect(message).toMatch(/^too long for us\n/);
    expect(message).toContain('answer: RangeError: too long for us');
    expect(message).toMatch(/x… \(16\d{3} characters\)/);
    const found = allCases({ plugin }).find((one) => one.name === `courier: ${name}`);
    await expect(found?.run()).rejects.toMatchObject({
      cause: { name: 'RangeError', stack: expect.stringContaining('conformance.test.ts') },
    });
  });
});

describe('the suite finds a channel that', () => {
  it.each(DEFECTS)('%s', async (_what, plugin, noticed) => {
    sent.clear();
    expect((await failing({ plugin }, noticed)).sort()).toEqual([...noticed].sort());
  });

  it('enqueues the messages of a delivery one by one', async () => {
    const plugin = inScope((scope) => ({
      async enqueue(messages, request) {
        const outcomes: EnqueueOutcome[] = [];
        for (const message of messages) outcomes.push(...(await scope.enqueue([message], request)));
        return outcomes;
      },
    }));
    const name = 'parses delivery 1 into 2 message(s)';
    expect(await failing({ ...options, plugin }, [name])).toEqual([name]);
  });

  it('replaces the problem documents of the daemon with a reply', async () => {
    const plugin: ResponsePlugin = {
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
    const name = 'passes on the problems of the daemon';
    const messages = [{ request: { path, body }, expect: [{ text: 'Hi' }] }];
    const inRequest = { settings: { WEBCHAT_ENABLED: true, WEBCHAT_WEBHOOK_PATH: path }, messages };
    expect(await failing({ ...inRequest, plugin: webchat }, [name])).toEqual([]);
    expect(await failing({ ...inRequest, plugin }, [name])).toEqual([name]);
  });
});
