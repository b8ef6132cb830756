import { describe, it } from 'vitest';
import msgbot from '../../plugins/msgbot/index.ts';
import sse from '../../plugins/sse/index.ts';
import template from '../../plugins/template/index.ts';
import webchat from '../../plugins/webchat/index.ts';
import { Secret } from '../../src/daemon/settings/secret.ts';
import { allCases } from './channel/all-cases.ts';

describe('the conformance suite', () => {
  const path = '/webchat/message';
  const body = (members: object) => JSON.stringify({ user_id: 'ada', message: 'Hi', ...members });
  const cases = allCases({
    plugin: webchat,
    settings: { WEBCHAT_ENABLED: true, WEBCHAT_WEBHOOK_PATH: path },
    messages: [
      {
        request: { path, body: body({}) },
        expect: [{ user_id: 'ada', text: 'Hi', thread_id: null, metadata: {} }],
      },
      {
        request: { path, body: body({ session_id: 's' }), headers: { 'Idempotency-Key': 'k' } },
        expect: [{ thread_id: 's', message_id: 'k' }],
      },
    ],
    refused: [
      { title: 'a body that is not JSON', request: { path, body: '{' }, code: 'malformed_json' },
      {
        title: 'a message that is only white space',
        request: { path, body: body({ message: ' ' }) },
        code: 'invalid_request',
      },
    ],
  });
  for (const { name, run } of cases) it(name, run);

  const chat = '/sse/chat';
  const streamed = allCases({
    plugin: sse,
    settings: { SSE_ENABLED: true, SSE_REQUIRE_TOKEN: false, SSE_STREAM_TTL_SECONDS: 300 },
    messages: [
      {
        request: { path: chat, body: body({ metadata: { jwt_token: 'not read here' } }) },
        expect: [{ platform: 'sse', user_id: 'ada', text: 'Hi', thread_id: null, metadata: {} }],
      },
      {
        request: {
          path: chat,
          body: body({ session_id: 's', jwt_token: 'a.b.c' }),
          headers: { 'Idempotency-Key': 'k' },
        },
        expect: [{ thread_id: 's', message_id: 'k', metadata: { jwt_token: 'a.b.c' } }],
      },
    ],
    refused: [
      { title: 'a body that is not JSON', request: { path: chat, body: '{' }, code: 'malformed_json' },
      {
        title: 'a message that is only white space',
        request: { path: chat, body: body({ message: ' ' }) },
        code: 'invalid_request',
      },
    ],
  });
  for (const { name, run } of streamed) it(name, run);
});

describe('the conformance suite, for msgbot', () => {
  const webhook = '/webhook/msgbot';
  const from = { id: 5550111, is_bot: false, first_name: 'Ada' };
  const chat = { id: 5550111, type: 'private', first_name: 'Ada' };
  const update = (members: object) =>
    JSON.stringify({ update_id: 1, message: { message_id: 7, from, chat, date: 1_795_290_000, ...members } });
  const signed = (body: string, secret = 'webhook-secret-of-the-suite') => ({
    path: webhook,
    body,
    headers: { 'X-Telegram-Bot-Api-Secret-Token': secret },
  });
  const bots = allCases({
    plugin: msgbot,
    settings: {
      MSGBOT_BOT_TOKEN: new Secret('5550100:token-of-the-suite'),
      MSGBOT_WEBHOOK_SECRET: new Secret('webhook-secret-of-the-suite'),
      MSGBOT_API_URL: 'https://bots.example',
    },
    messages: [
      {
        request: signed(update({ text: ' Hi ' })),
        expect: [
          {
            user_id: '5550111',
            channel_id: '5550111',
            thread_id: 'msgbot:5550111',
            message_id: '5550111:7',
            text: 'Hi',
            sent_at: 1_795_290_000_000,
            shared: false,
          },
        ],
      },
      { request: signed(update({ sticker: { emoji: '👍' } })), expect: [] },
      { request: signed(JSON.stringify({ update_id: 2, poll: {} })), expect: [] },
    ],
    refused: [
      {
        title: 'an update without the secret',
        request: { path: webhook, body: update({ text: 'Hi' }) },
        code: 'invalid_signature',
      },
      {
        title: 'an update with a wrong secret',
        request: signed(update({ text: 'Hi' }), 'webhook-secret-of-another'),
        code: 'invalid_signature',
      },
      { title: 'a body that is not JSON', request: signed('{'), code: 'malformed_json' },
    ],
    send: {
      reply: { id: 'r1', session_id: 'msgbot:5550111', text: 'Hello.', reply_to: { chat: 5550111 } },
      accepted: () => Response.json({ ok: true, result: { message_id: 1, chat, date: 0, text: 'Hello.' } }),
      refused: () =>
        Response.json(
          { ok: false, error_code: 403, description: 'Forbidden: bot was blocked by the user' },
          { status: 403 },
        ),
    },
  });
  for (const { name, run } of bots) it(name, run);
});

describe('the conformance suite, for the template of `agentd channels new`', () => {
  for (const { name, run } of allCases({ plugin: template })) it(name, run);
});
