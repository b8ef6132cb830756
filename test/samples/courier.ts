import { createHmac, timingSafeEqual } from 'node:crypto';
import type {
  Channel,
  ChannelCheck,
  ChannelHealth,
  ChannelPlugin,
  ChannelScope,
  ChannelSettings,
  IncomingMessage,
  PlatformSimulator,
  SecretValue,
  SimulatedEvent,
} from '../../src/channel/index.ts';

/** Longest letter that a courier carries, characters. */
const LETTER_MAX = 500;
const TEXT_MAX = 16_000;
/** Names of people, rooms and letters. */
const NAME = /^[\w:+-]{1,64}$/;

/** A third party's channel that holds to the whole contract: signed batches in, letters out. */
const courier: ChannelPlugin = {
  name: 'courier',
  apiVersion: 1,
  summary: 'People whom a courier visits.',
  settings: [
    { name: 'COURIER_API_URL', kind: 'url', required: true, sentence: 'Address of the office.' },
    { name: 'COURIER_SEAL', kind: 'string', required: true, secret: true, sentence: 'Seals deliveries.' },
    { name: 'COURIER_TOKEN', kind: 'string', required: true, secret: true, sentence: 'Lets letters out.' },
  ],
  detect: (settings) => settings.COURIER_TOKEN !== undefined,
  capabilities: { reply: 'later', streaming: false, textLimit: LETTER_MAX, markdown: 'none', typing: true },
  simulator: async () => simulator,
  create: (scope) => createCourier(scope),
};

export default courier;

function createCourier(scope: ChannelScope): Channel {
  let health: ChannelHealth = { status: 'ok' };

  async function call(path: string, body: object): Promise<void> {
    const response = await scope
      .fetch(`${scope.settings.COURIER_API_URL}${path}`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${secretOf(scope.settings, 'COURIER_TOKEN')}`,
          'Content-Type': 'application/json',
        },
        body: JSON.stringify(body),
        redirect: 'manual',
      })
      .catch((error: unknown) => {
        // Its own words may quote the request, and with it the token.
        const name = error instanceof Error ? error.name : 'unknown';
        throw scope.deliveryFailed(`the office could not be reached (${name})`, {
          final: false,
          platform: 'unreachable',
        });
      });
    await response.body?.cancel();
    const { status } = response;
    health = status === 401 ? { status: 'degraded', detail: 'COURIER_TOKEN is refused.' } : { status: 'ok' };
    if (response.ok) return;
    const seconds = Number(response.headers.get('Retry-After'));
    throw scope.deliveryFailed(`status ${status}`, {
      final: status >= 400 && status < 500 && status !== 429,
      ...(seconds > 0 ? { retryAfterSeconds: seconds } : {}),
      ...(status === 401 ? { platform: 'credentials' } : {}),
      ...(status < 400 || status >= 500 ? { platform: 'unreachable' } : {}),
    });
  }

  return {
    routes: [
      {
        method: 'POST',
        path: '/courier',
        contentType: 'application/json',
        async handle(request) {
          const seal = sealOf(request.body, secretOf(scope.settings, 'COURIER_SEAL'));
          const came = request.headers['x-courier-seal'] ?? '';
          if (came.length !== seal.length || !timingSafeEqual(Buffer.from(came), Buffer.from(seal)))
            throw scope.problem('invalid_signature', 'The seal is not right.');
          const { letters } = request.json();
          const read = (Array.isArray(letters) ? letters : []).map(readLetter).filter((one) => one !== null);
          await scope.accept(
            read.filter(({ edited }) => !edited).map(({ message }) => message),
            request,
          );
          for (const { edited, message } of read)
            if (edited) await scope.edit(String(message.message_id), message.text);
          return { status: 200 };
        },
      },
    ],
    send: ({ id, text, reply_to }) =>
      scope.sendParts(
        id,
        () => text.match(/[\s\S]{1,480}(?:\s|$)|[\s\S]{1,480}/g) ?? ['…'],
        (part, index) => call('/letters', { id: `${id}-${index}`, to: reply_to.to ?? null, text: part }),
      ),
    typing: (reply_to) => call('/bells', { to: reply_to.to ?? null }),
    health: () => health,
    check,
  };

  async function check(): Promise<ChannelCheck> {
    const advice = 'Ask the office.';
    try {
      const { status, headers } = await scope.fetch(`${scope.settings.COURIER_API_URL}/me`, {
        redirect: 'manual',
        headers: { Authorization: `Bearer ${secretOf(scope.settings, 'COURIER_TOKEN')}` },
      });
      const knows = status === 200 && headers.get('Content-Type') === 'application/json';
      return knows ? { outcome: 'ok', detail: 'known' } : { outcome: 'failed', detail: `${status}`, advice };
    } catch {
      return { outcome: 'failed', detail: 'out of reach', advice };
    }
  }
}

/** Null: not as the office would write one, or without words; it would only come again. */
function readLetter(letter: unknown): { edited: boolean; message: IncomingMessage } | null {
  const fields = typeof letter === 'object' && letter !== null ? (letter as Record<string, unknown>) : {};
  const { id, from, room, text, at, edited } = fields;
  if (!isName(id) || !isName(from) || !(room === undefined || isName(room))) return null;
  if (typeof text !== 'string') return null;
  const words = text.toWellFormed().trim();
  if (words === '' || [...words].length > TEXT_MAX) return null;
  const place = room === undefined ? `home:${from}` : `room:${room}`;
  return {
    edited: edited === true,
    message: {
      platform: 'courier',
      user_id: from,
      channel_id: room ?? from,
      thread_id: `courier:${place}`,
      text: words,
      metadata: {},
      message_id: id,
      shared: room !== undefined,
      reply_to: { to: place },
      ...(typeof at === 'number' && Number.isFinite(at) ? { sent_at: at } : {}),
    },
  };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

function sealOf(body: Uint8Array | string, seal: string): string {
  return createHmac('sha256', seal).update(body).digest('hex');
}

function secretOf(settings: ChannelSettings, name: string): string {
  return (settings[name] as SecretValue).reveal();
}

/** The office: one room, and everybody at home. */
const simulator: PlatformSimulator = {
  apiUrlSetting: 'COURIER_API_URL',
  devSettings: (secretOf, api_url) => ({
    COURIER_API_URL: api_url,
    COURIER_SEAL: secretOf('seal'),
    COURIER_TOKEN: secretOf('token'),
  }),
  who: () => ['ada', 'grace'],
  seenIn: ({ place, user }) => [place === 'group' ? 'room:hall' : `home:${user}`],
  delivery(event, settings) {
    const body = JSON.stringify({ letters: letterOf(event) });
    const seal = event.bad_signature ? 'another' : secretOf(settings, 'COURIER_SEAL');
    const headers = { 'Content-Type': 'application/json', 'X-Courier-Seal': sealOf(body, seal) };
    return { method: 'POST', path: '/courier', headers, body };
  },
  sign: (request, settings) => ({
    ...request,
    headers: {
      ...request.headers,
      'X-Courier-Seal': sealOf(request.body, secretOf(settings, 'COURIER_SEAL')),
    },
  }),
  startApi: (settings) => ({
    answer({ path, headers, body }) {
      if (headers.authorization !== `Bearer ${secretOf(settings, 'COURIER_TOKEN')}`)
        return { status: 401, body: {}, shown: [] };
      if (path === '/me') return { status: 200, body: {}, shown: [] };
      const { to = '', text = '' } = JSON.parse(Buffer.from(body).toString()) as Record<string, string>;
      if (path === '/bells') return { status: 200, body: {}, shown: [{ what: 'typing', to, text: '' }] };
      if (text.length > LETTER_MAX) return { status: 400, body: {}, shown: [] };
      return { status: 200, body: {}, shown: [{ what: 'message', to, text }] };
    },
  }),
};

function letterOf({ kind, user, text, place, number, sent_at }: SimulatedEvent): object[] {
  if (kind === 'other' || kind === 'status') return [];
  const room = place === 'group' ? { room: 'hall' } : {};
  const edited = kind === 'edit' ? { edited: true } : {};
  return [{ id: `letter-${number}`, from: user, text, at: sent_at, ...room, ...edited }];
}
