import type { ChannelSettings, PlatformSimulator, SimulatedEvent } from '../../src/channel/index.ts';
import { readSettings } from './graph.ts';
import { refusalOf, SimulatedGraph } from './simulator/graph.ts';
import { GROUP_ID, messageIdOf, payloadOf, userOf } from './simulator/payload.ts';
import { signatureOf } from './webhook-routes.ts';
import { isBusinessScopedId } from './who.ts';

/** Simulates WhatsApp and the Cloud API. People have phone numbers, or business-scoped ids that hide the number. */
export const simulator: PlatformSimulator = {
  apiUrlSetting: 'PHONECHAT_API_URL',

  devSettings(secretOf, api_url) {
    return {
      PHONECHAT_ACCESS_TOKEN: secretOf('PHONECHAT_ACCESS_TOKEN'),
      PHONECHAT_PHONE_NUMBER_ID: '106540352242922',
      PHONECHAT_APP_SECRET: secretOf('PHONECHAT_APP_SECRET'),
      PHONECHAT_VERIFY_TOKEN: secretOf('PHONECHAT_VERIFY_TOKEN'),
      PHONECHAT_API_URL: api_url,
    };
  },

  /** Phone numbers that are reserved for fiction, and the id of a person who hides the number. */
  who: () => ['+16505551234', '+16505555678', 'US.13491208655302741918'],

  delivery(event, settings) {
    const { app_secret } = readSettings(settings);
    const body = JSON.stringify(payloadOf(event, numberOf(settings)));
    const signature = signatureOf(body, event.bad_signature ? `not ${app_secret}` : app_secret);
    return {
      method: 'POST',
      path: '/webhook/phonechat',
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': 'facebookexternalua',
        'X-Hub-Signature': `sha1=${'0'.repeat(40)}`,
        'X-Hub-Signature-256': signature,
      },
      body,
    };
  },

  sign(request, settings) {
    const signature = signatureOf(request.body, readSettings(settings).app_secret);
    return { ...request, headers: { ...request.headers, 'X-Hub-Signature-256': signature } };
  },

  // A call that marks a message as read contains the id of the message.
  seenIn: (event) => [placeOf(event), messageIdOf(event)],

  refusal: refusalOf,

  startApi: (settings) => new SimulatedGraph(readSettings(settings)),
};

/** The first business number that the agent answers for. */
function numberOf(settings: ChannelSettings): string {
  const [first = ''] = readSettings(settings).numbers;
  return first;
}

function placeOf({ place, user }: SimulatedEvent): string {
  if (place === 'group') return GROUP_ID;
  return isBusinessScopedId(user) ? user : userOf(user).wa_id;
}
