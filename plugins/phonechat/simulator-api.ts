import { hash } from 'node:crypto';
import {
  asFields,
  asObjects,
  type Fields,
  jsonObject,
  type Shown,
  type SimulatedApi,
  type SimulatedApiAnswer,
  type SimulatedApiCall,
  type SimulatedRefusal,
  type SimulatedRefused,
} from '../../src/channel/index.ts';
import { type Configured, TEXT_LIMIT } from './api.ts';
import { asString } from './content.ts';
import { isBusinessScopedId } from './parse.ts';

/** The webhook address that is set on the app's page. */
const APP_WEBHOOK = 'https://simulate.invalid/webhook/phonechat';

/** The calls of the Cloud API that the channel makes, with the platform's answers and errors. */
export class SimulatedGraph implements SimulatedApi {
  readonly #configured: Configured;
  #sent = 0;
  #subscribed = false;
  /** The webhook addresses that were set for single numbers. */
  readonly #webhooks = new Map<string, string>();

  constructor(configured: Configured) {
    this.#configured = configured;
  }

  answer(call: SimulatedApiCall): SimulatedApiAnswer {
    const { method, path, headers } = call;
    const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
    if (bearer !== this.#configured.access_token) return badToken(bearer);
    const [, id = '', edge] = /^\/v\d+\.\d+\/([^/?]+)(\/\w+)?(?:\?|$)/.exec(path) ?? [];
    const body = jsonObject(Buffer.from(call.body).toString());
    if (id !== '' && edge === undefined && method === 'GET') return this.#look(id, path);
    if (id !== '' && edge === undefined && method === 'POST') return this.#configure(id, body);
    if (edge === '/subscribed_apps') return this.#subscribe(id, method);
    if (edge !== '/messages' || method !== 'POST') return unknownRequest(call);
    if (!this.#configured.numbers.has(id)) return noSuchObject(id);
    if (body.messaging_product !== 'whatsapp') return missing('messaging_product');
    return body.status === undefined ? this.#send(body) : read(body);
  }

  #look(id: string, path: string): SimulatedApiAnswer {
    if (!this.#configured.numbers.has(id)) return noSuchObject(id);
    if (path.includes('fields=webhook_configuration')) {
      const own = this.#webhooks.get(id);
      const webhook_configuration = { application: APP_WEBHOOK, ...(own && { phone_number: own }) };
      return { status: 200, body: { webhook_configuration, id }, shown: [] };
    }
    const number = { verified_name: 'Simulated Business', display_phone_number: '+1 555-012-3456', id };
    return { status: 200, body: number, shown: [] };
  }

  /** The platform would send a challenge to the address here. The simulator does not. */
  #configure(id: string, { webhook_configuration }: Fields): SimulatedApiAnswer {
    if (!this.#configured.numbers.has(id)) return noSuchObject(id);
    const { override_callback_uri, verify_token } = asFields(webhook_configuration);
    const url = asString(override_callback_uri);
    if (!url?.startsWith('https://')) return invalid('override_callback_uri should represent a valid URI');
    if (verify_token !== this.#configured.verify_token)
      return error(400, 'OAuthException', '(#2200) Callback verification failed', { code: 2200 });
    this.#webhooks.set(id, url);
    return { status: 200, body: { success: true }, shown: [] };
  }

  #subscribe(account: string, method: string): SimulatedApiAnswer {
    if (account !== this.#configured.account_id) return noSuchObject(account);
    if (method === 'POST') this.#subscribed = true;
    const app = { whatsapp_business_api_data: { id: '670843887433847', name: 'Simulated App' } };
    const body = method === 'POST' ? { success: true } : { data: this.#subscribed ? [app] : [] };
    return { status: 200, body, shown: [] };
  }

  #send(body: Fields): SimulatedApiAnswer {
    const to = asString(body.to);
    const recipient = asString(body.recipient);
    if (!to && !recipient) return missing('to');
    const content = body.type === 'interactive' ? buttonsIn(body) : textIn(body);
    if ('status' in content) return content;
    // If both are given, the number is used.
    const input = to ?? recipient ?? '';
    const group = body.recipient_type === 'group';
    const contact = to && !group ? { wa_id: to.replace(/\D/g, '') } : { user_id: input };
    // The platform reads a BSUID in `to` as a number: it accepts the message, but never delivers it.
    const isLost = to !== undefined && !group && isBusinessScopedId(to);
    return {
      status: 200,
      body: {
        messaging_product: 'whatsapp',
        contacts: [{ input, ...contact }],
        messages: [{ id: wamid(`sent ${++this.#sent}`) }],
      },
      shown: isLost ? [] : [{ what: 'message', to: input, ...content }],
    };
  }
}

type Content = Pick<Shown, 'text' | 'buttons'>;

function textIn(body: Fields): Content | SimulatedApiAnswer {
  if (body.type !== 'text') return invalid(`Unexpected key "type" on param "${String(body.type)}"`);
  const text = asString(asFields(body.text).body) ?? '';
  if (text === '') return missing('text');
  if ([...text].length > TEXT_LIMIT)
    return invalid(`Param text['body'] must be at most ${TEXT_LIMIT} characters long.`);
  return { text };
}

/** Limits of reply buttons (Cloud API, "Interactive reply buttons messages"). */
const BODY_MAX = 1024;
const TITLE_MAX = 20;
const ID_MAX = 256;

function buttonsIn({ interactive, recipient_type }: Fields): Content | SimulatedApiAnswer {
  const { type, body, action } = asFields(interactive);
  const text = asString(asFields(body).text) ?? '';
  const replies = asObjects(asFields(action).buttons).map(({ reply }) => asFields(reply));
  const buttons = replies.map(({ id, title }) => ({
    label: asString(title) ?? '',
    press: asString(id) ?? '',
  }));
  if (type !== 'button' || recipient_type === 'group') return invalid('Interactive type is not supported');
  if (text === '' || [...text].length > BODY_MAX)
    return invalid(`Body text length invalid. Min length: 1, Max length: ${BODY_MAX}`);
  if (buttons.length < 1 || buttons.length > 3)
    return invalid('Invalid buttons count. Min allowed buttons: 1, Max: 3');
  if (buttons.some(({ label }) => label === '' || [...label].length > TITLE_MAX))
    return invalid(`Button title length invalid. Min length: 1, Max length: ${TITLE_MAX}`);
  if (buttons.some(({ press }) => press === '' || press.length > ID_MAX))
    return invalid(`Button id length invalid. Min length: 1, Max length: ${ID_MAX}`);
  return { text, buttons };
}

function read({ status, message_id, typing_indicator }: Fields): SimulatedApiAnswer {
  if (status !== 'read') return invalid(`Param status must be one of {READ} - got "${String(status)}".`);
  if (!asString(message_id)) return missing('message_id');
  const seen = (what: Shown['what']): Shown => ({ what, to: String(message_id), text: '' });
  const typing = asFields(typing_indicator).type === 'text';
  return {
    status: 200,
    body: { success: true },
    shown: typing ? [seen('read'), seen('typing')] : [seen('read')],
  };
}

function badToken(bearer: string | undefined): SimulatedApiAnswer {
  if (bearer === undefined)
    return error(401, 'OAuthException', 'An access token is required to request this resource.', {
      code: 104,
    });
  return error(401, 'OAuthException', 'Error validating access token: the session has been invalidated.', {
    code: 190,
    error_subcode: 460,
  });
}

function unknownRequest({ method, path }: SimulatedApiCall): SimulatedApiAnswer {
  return error(400, 'OAuthException', `Unknown path components: ${method} ${path.split('?')[0]}`, {
    code: 2500,
  });
}

function noSuchObject(id: string): SimulatedApiAnswer {
  return error(
    400,
    'GraphMethodException',
    `Unsupported post request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation`,
    { code: 100, error_subcode: 33 },
  );
}

function missing(parameter: string): SimulatedApiAnswer {
  return error(400, 'OAuthException', `(#100) The parameter ${parameter} is required.`, { code: 100 });
}

function invalid(details: string): SimulatedApiAnswer {
  return error(400, 'OAuthException', '(#100) Invalid parameter', {
    code: 100,
    error_data: { messaging_product: 'whatsapp', details },
  });
}

/** The form of all errors of the platform. Errors about credentials also have a header. */
function error(status: number, type: string, message: string, members: object): SimulatedApiAnswer {
  const headers: Record<string, string> =
    status === 401 ? { 'WWW-Authenticate': 'OAuth "Facebook Platform" "invalid_token"' } : {};
  return {
    status,
    headers,
    body: { error: { message, type, ...members, fbtrace_id: 'AbCdEfGhIjKlMnOpQrStUvW' } },
    shown: [],
  };
}

interface PlatformError {
  message: string;
  code: number;
  /** Set if the details say more than the message. */
  details?: string;
}

/** Errors by their status (WhatsApp Business Platform, "Error codes"). */
const ERRORS: Readonly<Record<number, PlatformError>> = {
  401: { message: 'Error validating access token: the session has been invalidated.', code: 190 },
  403: { message: '(#10) Application does not have permission for this action', code: 10 },
  429: {
    message: '(#130429) Rate limit hit',
    code: 130429,
    details: 'Message failed to send: too many of them.',
  },
  500: { message: '(#131000) Something went wrong', code: 131000 },
  503: { message: 'Service temporarily unavailable', code: 2 },
};
const INVALID: PlatformError = { message: '(#131009) Parameter value is not valid', code: 131009 };
const BROKEN: PlatformError = { message: 'An unknown error occurred', code: 1 };

/** An error of the Cloud API. */
export function buildRefusal({ status, retry_after_seconds }: SimulatedRefusal): SimulatedRefused {
  const { message, code, details = message } = ERRORS[status] ?? (status < 500 ? INVALID : BROKEN);
  const { headers, body } = error(status, 'OAuthException', message, {
    code,
    error_data: { messaging_product: 'whatsapp', details },
  });
  const wait = retry_after_seconds === null ? {} : { 'Retry-After': String(retry_after_seconds) };
  return { status, headers: { ...headers, ...wait }, body };
}

/** A message id, always the same for the same text. It has the platform's form: a prefix and base64. */
export function wamid(words: string): string {
  return `wamid.${hash('sha256', words, 'base64')}`;
}
