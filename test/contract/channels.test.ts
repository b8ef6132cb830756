import { describe, it } from 'vitest';
import sse from '../../plugins/sse/index.ts';
import webchat from '../../plugins/webchat/index.ts';
import { channelConformance } from '../../src/channel/conformance.ts';

describe('the conformance suite', () => {
  const path = '/webchat/message';
  const body = (members: object) => JSON.stringify({ user_id: 'ada', message: 'Hi', ...members });
  const cases = channelConformance({
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
      { title: 'a body that is no JSON', request: { path, body: '{' }, code: 'malformed_json' },
      {
        title: 'a message without words',
        request: { path, body: body({ message: ' ' }) },
        code: 'invalid_request',
      },
    ],
  });
  for (const { name, run } of cases) it(name, run);

  const chat = '/sse/chat';
  const streamed = channelConformance({
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
      { title: 'a body that is no JSON', request: { path: chat, body: '{' }, code: 'malformed_json' },
      {
        title: 'a message without words',
        request: { path: chat, body: body({ message: ' ' }) },
        code: 'invalid_request',
      },
    ],
  });
  for (const { name, run } of streamed) it(name, run);
});
