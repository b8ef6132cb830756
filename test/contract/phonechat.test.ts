import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, it } from 'vitest';
import phonechat from '../../plugins/phonechat/index.ts';
import { signRequest } from '../../plugins/phonechat/webhook-routes.ts';
import type { SampleRequest } from '../../src/channel/conformance.ts';
import { settingsOf } from '../support/fake-platform.ts';
import { allCases } from './channel/all-cases.ts';

const SETTINGS = {
  PHONECHAT_ACCESS_TOKEN: 'EAAG-token',
  PHONECHAT_PHONE_NUMBER_ID: '106540352242922',
  PHONECHAT_APP_SECRET: 'app-secret',
  PHONECHAT_VERIFY_TOKEN: 'verify-me',
};
const THREAD = 'phonechat:106540352242922:+16505551234';
const path = '/webhook/phonechat';

function signed(body: string, secret = SETTINGS.PHONECHAT_APP_SECRET): SampleRequest {
  return { path, body, headers: { 'X-Hub-Signature-256': signRequest(body, secret) } };
}

function sample(name: string): string {
  return readFileSync(resolve(import.meta.dirname, `../fixtures/phonechat/${name}.json`), 'utf8');
}

describe('the conformance suite', () => {
  const cases = allCases({
    plugin: phonechat,
    settings: settingsOf(phonechat, SETTINGS),
    messages: [
      {
        request: signed(sample('text')),
        expect: [{ user_id: '+16505551234', text: 'Does it come in another color?', thread_id: THREAD }],
      },
      {
        request: signed(sample('many')),
        expect: [{ text: 'one' }, { text: 'two' }, { text: 'three' }, { text: 'four' }],
      },
      { request: signed(sample('status-delivered')), expect: [] },
      { request: signed(sample('image')), expect: [] },
    ],
    refused: [
      {
        title: 'a body without a signature',
        request: { path, body: sample('text') },
        code: 'invalid_signature',
      },
      {
        title: 'a body that is signed with a wrong secret',
        request: signed(sample('text'), 'another'),
        code: 'invalid_signature',
      },
      { title: 'a signed body that is not JSON', request: signed('{'), code: 'malformed_json' },
      {
        title: 'a challenge with a wrong verify token',
        request: {
          method: 'GET',
          path: `${path}?hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=1158201444`,
        },
        code: 'forbidden',
      },
    ],
    send: {
      reply: {
        id: 'reply-1',
        session_id: THREAD,
        text: 'Hello.',
        reply_to: { number_id: '106540352242922', to: '16505551234', message_id: 'wamid.1' },
      },
      accepted: () =>
        Response.json({
          messaging_product: 'whatsapp',
          contacts: [{ input: '16505551234', wa_id: '16505551234' }],
          messages: [{ id: 'wamid.2' }],
        }),
      refused: () =>
        Response.json(
          { error: { message: '(#131047) Re-engagement message', type: 'OAuthException', code: 131047 } },
          { status: 400 },
        ),
    },
  });
  for (const { name, run } of cases) it(name, run);
});
