import { hash } from 'node:crypto';
import type {
  ChannelSettings,
  JsonObject,
  PlatformSimulator,
  SimulatedEvent,
} from '../../src/channel/index.ts';
import { MESSAGES_FIELD, readSettings, WEBHOOK_OBJECT } from './api.ts';
import { isBusinessScopedId } from './parse.ts';
import { listSpellings } from './phone-number.ts';
import { buildRefusal, SimulatedGraph, wamid } from './simulator-api.ts';
import { signRequest } from './webhook-routes.ts';

/** Simulates WhatsApp and the Cloud API. People have phone numbers, or business-scoped ids that hide the number. */
export const simulator: PlatformSimulator = {
  apiUrlSetting: 'PHONECHAT_API_URL',

  devSettings(deriveSecret, api_url) {
    return {
      PHONECHAT_ACCESS_TOKEN: deriveSecret('PHONECHAT_ACCESS_TOKEN'),
      PHONECHAT_PHONE_NUMBER_ID: '106540352242922',
      PHONECHAT_APP_SECRET: deriveSecret('PHONECHAT_APP_SECRET'),
      PHONECHAT_VERIFY_TOKEN: deriveSecret('PHONECHAT_VERIFY_TOKEN'),
      PHONECHAT_API_URL: api_url,
    };
  },

  /** Phone numbers that are reserved for fiction, and the id of a person who hides the number. */
  who: () => ['+16505551234', '+16505555678', 'US.13491208655302741918'],

  delivery(event, settings) {
    const { app_secret } = readSettings(settings);
    const body = JSON.stringify(buildPayload(event, readNumber(settings)));
    const signature = signRequest(body, event.bad_signature ? `not ${app_secret}` : app_secret);
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
    const signature = signRequest(request.body, readSettings(settings).app_secret);
    return { ...request, headers: { ...request.headers, 'X-Hub-Signature-256': signature } };
  },

  // A call that marks a message or a press as read contains its id.
  seenIn: (event) => [toPlaceId(event), toMessageId(event), toEventId(event)],

  refusal: buildRefusal,

  startApi: (settings) => new SimulatedGraph(readSettings(settings)),
};

/** The first business number that the agent answers for. */
function readNumber(settings: ChannelSettings): string {
  const [first = ''] = readSettings(settings).numbers;
  return first;
}

function toPlaceId({ place, user }: SimulatedEvent): string {
  if (place === 'group') return GROUP_ID;
  return isBusinessScopedId(user) ? user : toUser(user).wa_id;
}

const ACCOUNT_ID = '102290129340398';
const DISPLAY_NUMBER = '15550783881';

/** The only group. Groups have no threads. */
export const GROUP_ID = 'Y2FwaV9ncm91cDoxNTU1MDc4Mzg4MToxMjAzNjM0MDQ2OTQyMzM4MjAZD';

/** The webhook that the platform sends for an event (WhatsApp Business Platform, "messages webhook reference"). */
function buildPayload(event: SimulatedEvent, number_id: string): JsonObject {
  const value = event.kind === 'status' ? buildStatus(event) : buildMessage(event);
  return {
    object: WEBHOOK_OBJECT,
    entry: [
      {
        id: ACCOUNT_ID,
        changes: [
          {
            value: {
              messaging_product: 'whatsapp',
              metadata: { display_phone_number: DISPLAY_NUMBER, phone_number_id: number_id },
              ...value,
            },
            field: MESSAGES_FIELD,
          },
        ],
      },
    ],
  };
}

/**
 * The phone number and the business-scoped id of a person. A name that is not a number gets an invented number that
 * never changes.
 */
export function toUser(user: string): { wa_id: string; user_id: string } {
  const digits = user.replace(/^\+/, '');
  const wa_id = /^\d{5,20}$/.test(digits) ? digits : `1650555${hashToDecimals(user, 4)}`;
  // Both spellings of a number belong to the same person.
  const [number = wa_id] = listSpellings(`+${wa_id}`);
  return { wa_id, user_id: `US.${hashToDecimals(number, 20)}` };
}

function buildMessage(event: SimulatedEvent): JsonObject {
  const { user, user_name, place, sent_at } = event;
  const isHidden = isBusinessScopedId(user);
  const { wa_id, user_id } = isHidden ? { wa_id: '', user_id: user } : toUser(user);
  const name = user_name ?? 'Sheena Nelson';
  const from = isHidden ? { from_user_id: user_id } : { from: wa_id, from_user_id: user_id };
  return {
    contacts: [
      {
        profile: { name, ...(isHidden ? { username: `user${hashToDecimals(user, 6)}` } : {}) },
        ...(isHidden ? {} : { wa_id }),
        user_id,
      },
    ],
    messages: [
      {
        ...from,
        ...(place === 'group' ? { group_id: GROUP_ID } : {}),
        id: toEventId(event),
        timestamp: String(Math.floor(sent_at / 1000)),
        ...buildContent(event),
      },
    ],
  };
}

function buildContent(event: SimulatedEvent): JsonObject {
  const { kind, text } = event;
  switch (kind) {
    case 'press':
      return {
        type: 'interactive',
        context: { from: DISPLAY_NUMBER, id: wamid(`question ${event.number}`) },
        interactive: { type: 'button_reply', button_reply: { id: text, title: 'Button' } },
      };
    case 'edit':
      return {
        type: 'edit',
        edit: {
          original_message_id: toMessageId(event),
          message: { context: { id: 'M0' }, type: 'text', text: { body: text } },
        },
      };
    case 'other':
      return {
        type: 'image',
        image: {
          ...(text === '' ? {} : { caption: text }),
          mime_type: 'image/jpeg',
          sha256: 'SfInY0gGKTsJlUWbwxC1k+FAD0FZHvzwfpvO0zX0GUI=',
          id: '1003383421387256',
          url: 'https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1003383421387256',
        },
      };
    default:
      // The platform has no commands: a text that begins with a slash is an ordinary text.
      return { type: 'text', text: { body: text } };
  }
}

/** The status of the bot's message with this number: failed if the text is `failed`, otherwise delivered. */
function buildStatus({ user, number, sent_at, text }: SimulatedEvent): JsonObject {
  const hasFailed = text.trim().toLowerCase() === 'failed';
  const { wa_id, user_id } = toUser(user);
  const status = {
    id: wamid(`ours ${number}`),
    status: hasFailed ? 'failed' : 'delivered',
    timestamp: String(Math.floor(sent_at / 1000)),
    recipient_id: wa_id,
  };
  if (hasFailed) {
    return {
      statuses: [
        {
          ...status,
          errors: [
            {
              code: 131047,
              title: 'Re-engagement message',
              message: 'Re-engagement message',
              error_data: {
                details:
                  'Message failed to send because more than 24 hours have passed since the customer last replied to this number.',
              },
              href: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/',
            },
          ],
        },
      ],
    };
  }
  return {
    contacts: [{ profile: { name: 'Sheena Nelson' }, wa_id, user_id }],
    statuses: [
      {
        ...status,
        recipient_user_id: user_id,
        pricing: {
          billable: false,
          pricing_model: 'PMP',
          category: 'service',
          type: 'free_customer_service',
        },
      },
    ],
  };
}

/** Id of the message, or of the original message of an edit. */
export function toMessageId({ user, number }: SimulatedEvent): string {
  return wamid(`${user} ${number}`);
}

/** Edits and presses are separate messages with their own ids. */
function toEventId(event: SimulatedEvent): string {
  const { kind, user, number, text, sent_at } = event;
  if (kind === 'edit') return wamid(`edit ${user} ${number} ${text}`);
  return kind === 'press' ? wamid(`press ${user} ${number} ${text} ${sent_at}`) : toMessageId(event);
}

function hashToDecimals(words: string, length: number): string {
  const number = BigInt(`0x${hash('sha256', words, 'hex')}`);
  return (number % 10n ** BigInt(length)).toString().padStart(length, '0');
}
