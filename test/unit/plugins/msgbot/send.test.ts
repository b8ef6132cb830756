import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PlatformApi } from '../../../../plugins/msgbot/api.ts';
import { Sender } from '../../../../plugins/msgbot/send.ts';
import { type Called, granted, platformScope, refused, reply, TOKEN } from './scope.ts';

function senderAt(answer: Parameters<typeof platformScope>[0], url = 'https://bots.example') {
  const platform = platformScope(answer);
  const api = new PlatformApi(platform.scope, TOKEN, url);
  return { ...platform, api, sender: new Sender(platform.scope, api) };
}

const texts = (calls: readonly Called[]) => calls.map(({ payload }) => payload.text);
/** A text that is so long that it is sent as three messages. */
const LONG = ['one', 'two', 'three'].map((word) => `${word} `.repeat(650).trim()).join('\n\n');

describe('a reply', () => {
  it('is sent to its chat as HTML, without previews of its links', async () => {
    const { sender, calls } = senderAt(granted);
    await sender.send(reply('**Hello** @everyone & @ada'));
    expect(calls).toEqual([
      {
        method: 'sendMessage',
        payload: {
          chat_id: 5550111,
          text: expect.stringMatching(/^<b>Hello<\/b> @\u2060everyone &amp; @\u2060ada$/),
          parse_mode: 'HTML',
          link_preview_options: { is_disabled: true },
        },
      },
    ]);
  });

  it('is known by the ids of its messages, so that reactions find it', async () => {
    let message_id = 7;
    const sent = () =>
      Response.json({ ok: true, result: { message_id: message_id++, chat: { id: -100, type: 'group' } } });
    const { sender, scope } = senderAt(sent);
    await sender.send(reply(LONG, { chat: -100 }));
    expect(scope.sent).toEqual(['-100:7', '-100:8', '-100:9']);
  });

  it('in a group is sent to the topic, and only its first part answers the message', async () => {
    const { sender, calls } = senderAt(granted);
    await sender.send(reply(LONG, { chat: -1005550300, topic: 301, answers: 303 }));
    expect(calls).toHaveLength(3);
    expect(calls.map(({ payload }) => [payload.message_thread_id, payload.reply_parameters])).toEqual([
      [301, { message_id: 303, allow_sending_without_reply: true }],
      [301, undefined],
      [301, undefined],
    ]);
  });

  it('continues at the failed part when it is sent again', async () => {
    const { sender, calls } = senderAt((_called, count) =>
      count === 2 ? refused(500, 'Internal') : granted(),
    );
    await expect(sender.send(reply(LONG))).rejects.toMatchObject({ final: false });
    await sender.send(reply(LONG));
    const [first, second, again, third] = texts(calls);
    expect(calls).toHaveLength(4);
    expect(again).toBe(second);
    expect(new Set([first, second, third]).size).toBe(3);
  });

  it('stops if sending takes too long, and the next attempt continues at the next part', async () => {
    const { sender, calls, scope } = senderAt(granted);
    const begun = Date.now();
    // The clock advances by 15 s each time it is read.
    let looks = 0;
    scope.now = () => begun + looks++ * 15_000;
    await expect(sender.send(reply(`${LONG}\n\n${LONG}`))).rejects.toMatchObject({
      final: false,
      message: 'sending takes too long',
    });
    expect(calls).toHaveLength(2);
    looks = 0;
    await expect(sender.send(reply(`${LONG}\n\n${LONG}`))).rejects.toMatchObject({ final: false });
    looks = 0;
    await sender.send(reply(`${LONG}\n\n${LONG}`));
    expect(new Set(texts(calls).map((text) => String(text).slice(0, 3))).size).toBe(3);
    expect(calls).toHaveLength(6);
  });

  it('is sent once, even if it is requested again while it is being sent', async () => {
    const { sender, calls } = senderAt(granted);
    await Promise.all([sender.send(reply('hello')), sender.send(reply('hello'))]);
    expect(calls).toHaveLength(1);
  });

  it('is sent as plain text if the platform cannot read the markup', async () => {
    const { sender, calls } = senderAt(({ payload }) =>
      payload.parse_mode
        ? refused(400, "Bad Request: can't parse entities: Unsupported start tag")
        : granted(),
    );
    await sender.send(reply('**a** < `b` & [c](https://example.com)'));
    expect(calls).toHaveLength(2);
    expect(calls[1]?.payload).toMatchObject({ text: 'a < b & c' });
    expect(calls[1]?.payload).not.toHaveProperty('parse_mode');
  });

  it('is sent to the supergroup that its group has become, and so are later messages', async () => {
    const { sender, calls } = senderAt(({ payload }) =>
      payload.chat_id === -5550200
        ? refused(400, 'Bad Request: group chat was upgraded to a supergroup chat', {
            migrate_to_chat_id: -1005550200,
          })
        : granted(),
    );
    await sender.send(reply(LONG, { chat: -5550200, answers: 9 }));
    await sender.showTyping({ chat: -5550200 });
    expect(calls.map(({ payload }) => payload.chat_id)).toEqual([-5550200, ...Array(4).fill(-1005550200)]);
    expect(calls[1]?.payload).not.toHaveProperty('reply_parameters');
  });

  it.each([
    ['too many calls', () => refused(429, 'Too Many Requests: retry after 7', { retry_after: 7 }), false, 7],
    [
      'a proxy with a rate limit',
      () => new Response('slow down', { status: 429, headers: { 'Retry-After': '9' } }),
      false,
      9,
    ],
    [
      'too many calls, with the time to wait only in the header',
      () =>
        new Response(JSON.stringify({ ok: false, error_code: 429, description: 'Too Many Requests' }), {
          status: 429,
          headers: { 'Retry-After': '9' },
        }),
      false,
      9,
    ],
    [
      'a failing platform that says how long to wait',
      () =>
        new Response(JSON.stringify({ ok: false, error_code: 502, description: 'Bad Gateway' }), {
          status: 502,
          headers: { 'Retry-After': '9' },
        }),
      false,
      9,
      'unreachable',
    ],
    ['a failing platform', () => refused(500, 'Internal Server Error'), false, 0, 'unreachable'],
    ['a platform that did not wait for the request', () => refused(408, 'Request Timeout'), false, 0],
    ['a failing proxy', () => new Response('<html>', { status: 502 }), false, 0, 'unreachable'],
    ['an invalid answer', () => new Response('null', { status: 200 }), false, 0, 'unreachable'],
    [
      'a redirect',
      () => new Response('', { status: 307, headers: { Location: 'https://else.example' } }),
      false,
      0,
      'unreachable',
    ],
    ['blocked by the user', () => refused(403, 'Forbidden: bot was blocked by the user'), true, 0],
    ['kicked', () => refused(403, 'Forbidden: bot was kicked from the supergroup chat'), true, 0],
    ['chat not found', () => refused(400, 'Bad Request: chat not found'), true, 0],
    ['a closed topic', () => refused(400, 'Bad Request: TOPIC_CLOSED'), true, 0],
    ['a deleted topic', () => refused(400, 'Bad Request: message thread not found'), true, 0],
    [
      'no rights',
      () => refused(400, 'Bad Request: not enough rights to send text messages to the chat'),
      true,
      0,
    ],
    ['a token that was revoked', () => refused(401, 'Unauthorized'), false, 0, 'credentials'],
    ['an invalid token', () => refused(404, 'Not Found'), false, 0, 'credentials'],
    ['a wrong address', () => new Response('<html>', { status: 404 }), true, 0],
  ])(
    'that fails reports whether and when to try again: %s',
    async (_title, answer, final, retry_after_seconds, platform: string | null = null) => {
      const { sender } = senderAt(answer);
      await expect(sender.send(reply('hello'))).rejects.toMatchObject({
        name: 'DeliveryFailed',
        final,
        retry_after_seconds,
        platform,
      });
    },
  );

  it('is tried again if the platform cannot be reached', async () => {
    const { sender } = senderAt(() => Promise.reject(new TypeError('fetch failed')));
    await expect(sender.send(reply('hello'))).rejects.toMatchObject({
      final: false,
      message: 'no answer',
    });
  });

  it('that fails says why the platform cannot be reached, without secrets', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
    const failing = async (error: Error) => {
      const { sender } = senderAt(() => Promise.reject(error));
      return sender.send(reply('hello')).catch(({ message }: Error) => message);
    };
    expect(await failing(new TypeError('fetch failed', { cause }))).toBe('no answer (ECONNREFUSED)');
    expect(await failing(new DOMException('The operation timed out', 'TimeoutError'))).toBe(
      'no answer in time',
    );
  });
});

describe('a message with a token', () => {
  const TO = { chat: 5550111, deletes: 77 };

  it('is deleted before the answer is sent', async () => {
    const { sender, calls } = senderAt(granted);
    await sender.send(reply('Signed in.', TO));
    expect(calls.map(({ method, payload }) => [method, payload.message_id ?? payload.text])).toEqual([
      ['deleteMessage', 77],
      ['sendMessage', 'Signed in.'],
    ]);
  });

  it('that is already gone counts as deleted', async () => {
    const { sender, calls } = senderAt(({ method }) =>
      method === 'deleteMessage' ? refused(400, 'Bad Request: message to delete not found') : granted(),
    );
    await sender.send(reply('Signed in.', TO));
    expect(texts(calls).at(-1)).toBe('Signed in.');
  });

  it('that the bot may not delete makes the answer ask the sender to delete it', async () => {
    const { sender, calls } = senderAt(({ method }) =>
      method === 'deleteMessage' ? refused(400, "Bad Request: message can't be deleted") : granted(),
    );
    await sender.send(reply('In private only.', { chat: -1005550200, deletes: 77 }));
    expect(texts(calls).at(-1)).toBe(
      'In private only.\n\nPlease delete your message yourself: I am not allowed to delete it.',
    );
  });

  it('is deleted even if the platform is briefly down', async () => {
    const { sender, calls } = senderAt((_called, count) =>
      count === 1 ? refused(502, 'Bad Gateway') : granted(),
    );
    await expect(sender.send(reply('Signed in.', TO))).rejects.toMatchObject({ final: false });
    await sender.send(reply('Signed in.', TO));
    expect(calls.map(({ method }) => method)).toEqual(['deleteMessage', 'deleteMessage', 'sendMessage']);
  });

  it('that cannot be deleted at the second attempt, either, makes the answer ask the sender to delete it', async () => {
    const { sender, calls } = senderAt(({ method }) =>
      method === 'deleteMessage' ? refused(502, 'Bad Gateway') : granted(),
    );
    await expect(sender.send(reply('Signed in.', TO))).rejects.toMatchObject({ final: false });
    await sender.send(reply('Signed in.', TO));
    expect(texts(calls).at(-1)).toBe(
      'Signed in.\n\nPlease delete your message yourself: I could not delete it.',
    );
  });
});

describe('the token of the bot', () => {
  const leaks = (value: unknown): boolean => JSON.stringify(value).includes('canary_of_the');

  it.each([
    ['a refusal that repeats it', () => refused(400, `Bad Request: no method at /bot${TOKEN}/sendMessage`)],
    ['a proxy that repeats it', () => new Response(`no route /bot${TOKEN}/`, { status: 503 })],
    [
      'an error that contains the address',
      () => Promise.reject(new TypeError(`bad URL https://x/bot${TOKEN}/`)),
    ],
  ])('is not in an error or in the log: %s', async (_title, answer) => {
    const { sender, lines } = senderAt(answer);
    const error: unknown = await sender.send(reply('hello')).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: 'DeliveryFailed', message: expect.stringMatching(/\w/) });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('canary_of_the');
    expect(leaks(lines)).toBe(false);
    const typing = await sender.showTyping({ chat: 5550111 }).catch((caught: unknown) => caught);
    expect(inspect(typing, { depth: 9, showHidden: true })).not.toContain('canary_of_the');
  });
});

describe('the address of the API', () => {
  it('is the only address that is called, because redirects are not followed', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(307, { Location: '/elsewhere' }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { scope } = platformScope(granted);
    scope.fetch = globalThis.fetch;
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const sender = new Sender(scope, new PlatformApi(scope, TOKEN, url));
    await expect(sender.send(reply('hello'))).rejects.toMatchObject({
      final: false,
      message: 'the answer is not from the Bot API (307)',
    });
    expect(asked).toEqual([`/bot${TOKEN}/sendMessage`]);
  });

  it('may end with a slash', async () => {
    const { sender, calls } = senderAt(granted, 'https://bots.example/');
    await sender.send(reply('hello'));
    expect(calls).toHaveLength(1);
  });
});
