import { describe, it } from 'vitest';
import teamchat from '../../plugins/teamchat/index.ts';
import { signRequest } from '../../plugins/teamchat/verify.ts';
import type { SampleRequest } from '../../src/channel/conformance.ts';
import { sample } from '../fixtures/teamchat/sample.ts';
import { settingsOf } from '../support/fake-platform.ts';
import { allCases } from './channel/all-cases.ts';

const SECRET = '8f742231b10e8888abcd99yyyzzz85a5';
const settings = settingsOf(teamchat, {
  TEAMCHAT_BOT_TOKEN: 'xoxb-a-token',
  TEAMCHAT_SIGNING_SECRET: SECRET,
});

function signed(body: string, secret = SECRET): SampleRequest {
  const timestamp = String(Math.floor(Date.now() / 1000));
  return {
    path: '/webhook/teamchat/events',
    body,
    headers: {
      'X-Slack-Request-Timestamp': timestamp,
      'X-Slack-Signature': signRequest(secret, timestamp, body),
    },
  };
}

const event = (name: string) => signed(JSON.stringify(sample(name)));
const json = (body: object) => () =>
  new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } });

describe('the conformance suite', () => {
  const cases = allCases({
    plugin: teamchat,
    settings,
    messages: [
      {
        request: event('app-mention'),
        expect: [
          {
            user_id: 'U061F7AUR',
            channel_id: 'C123ABC456',
            thread_id: 'teamchat:T061EG9R6:C123ABC456:1515449522.000016',
            message_id: 'C123ABC456:1515449522.000016',
            text: 'is it everything a river should be?',
            sent_at: 1_515_449_522_000,
            shared: true,
          },
        ],
      },
      {
        request: event('message-im-documented'),
        expect: [{ thread_id: 'teamchat:T061EG9R6:D024BE91L', shared: false }],
      },
      { request: event('message-deleted'), expect: [] },
      { request: event('url-verification'), expect: [] },
    ],
    refused: [
      {
        title: 'a body that is signed with a wrong secret',
        request: signed(JSON.stringify(sample('app-mention')), 'x'),
        code: 'invalid_signature',
      },
      {
        title: 'a body without a signature',
        request: { path: '/webhook/teamchat/events', body: '{' },
        code: 'invalid_signature',
      },
      { title: 'a signed body that is not JSON', request: signed('{'), code: 'malformed_json' },
    ],
    send: {
      reply: { id: 'r1', session_id: 's', text: '**Hello**', reply_to: { channel: 'C1', thread_ts: '1.2' } },
      accepted: json({ ok: true, channel: 'C1', ts: '1503435956.000247' }),
      refused: json({ ok: false, error: 'is_archived' }),
    },
  });
  for (const { name, run } of cases) it(name, run);
});
