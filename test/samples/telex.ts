import { createHmac, timingSafeEqual } from 'node:crypto';
import type {
  ChannelPlugin,
  IncomingMessage,
  JsonObject,
  PlatformSimulator,
  SimulatedEvent,
} from '../../src/channel/index.ts';

/** What the fake platform posts: messages, or a command that the channel answers by itself. */
interface Delivery {
  messages?: {
    id?: string;
    user: string;
    /** Another id of the user. */
    alias?: string;
    thread: string;
    text: string;
    shared?: boolean;
    metadata?: JsonObject;
    /** ms since the epoch. */
    sent_at?: number;
  }[];
  edited?: { id: string; text: string };
  link?: { user: string; token: string };
  unlink?: { user: string };
  say?: { to: string; text: string };
}

/** A channel that answers later, in one file with type imports only: it runs from any folder. */
export default {
  name: 'telex',
  apiVersion: 1,
  summary: 'People with a teleprinter.',
  settings: [
    { name: 'TELEX_API_URL', kind: 'url', required: true, sentence: 'Address of the exchange.' },
    { name: 'TELEX_SECRET', kind: 'string', secret: true, sentence: 'Signs what the exchange delivers.' },
  ],
  detect: (settings) => settings.TELEX_API_URL !== undefined,
  capabilities: { reply: 'later', streaming: false, textLimit: null, markdown: 'none', typing: true },
  simulator: async () => simulator,
  linking: {
    word: 'printer',
    argument: 'ID',
    // The exchange writes some with its mark, some without.
    idsOf(given) {
      const id = /^(?:tx-)?(\w{1,32})$/.exec(given)?.[1];
      return id === undefined ? [] : [id, `tx-${id}`];
    },
  },
  create(scope) {
    const secret = scope.settings.TELEX_SECRET as { reveal(): string } | undefined;
    const call = (path: string, body: object) =>
      scope.fetch(`${scope.settings.TELEX_API_URL}${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json' },
      });
    return {
      routes: [
        {
          method: 'POST',
          path: '/telex',
          contentType: 'application/json',
          async handle(request) {
            if (secret && !isSigned(request.body, request.headers['x-telex-signature'], secret.reveal()))
              throw scope.problem('invalid_signature', 'The signature is not right.');
            const delivery = request.json() as Delivery;
            if (delivery.link)
              return { body: await scope.links.link(delivery.link.user, delivery.link.token) };
            if (delivery.unlink) return { body: { removed: await scope.links.unlink(delivery.unlink.user) } };
            if (delivery.say) await scope.say({ to: delivery.say.to }, delivery.say.text);
            if (delivery.edited)
              return { body: { edited: await scope.edit(delivery.edited.id, delivery.edited.text) } };
            await scope.accept((delivery.messages ?? []).map(parse), request);
            return { status: 200 };
          },
        },
      ],
      async send(reply) {
        const response = await call('/send', {
          id: reply.id,
          to: reply.reply_to.to ?? null,
          text: reply.text,
          session_id: reply.session_id,
        });
        if (response.ok) return;
        const retryAfter = response.headers.get('Retry-After');
        const { error } = (await response.json().catch(() => ({}))) as { error?: string };
        throw scope.deliveryFailed(error ?? `status ${response.status}`, {
          final: response.status >= 400 && response.status < 500 && response.status !== 429,
          ...(retryAfter === null ? {} : { retryAfterSeconds: Number(retryAfter) }),
          ...(response.status === 401 ? { platform: 'credentials' } : {}),
          ...(response.status >= 500 ? { platform: 'unreachable' } : {}),
        });
      },
      async typing(reply_to) {
        await call('/typing', { to: reply_to.to ?? null });
      },
    };
  },
} satisfies ChannelPlugin;

function parse({
  id,
  user,
  alias,
  thread,
  text,
  shared,
  metadata,
  sent_at,
}: NonNullable<Delivery['messages']>[number]): IncomingMessage {
  return {
    platform: 'telex',
    user_id: user,
    channel_id: thread,
    thread_id: `telex:${thread}`,
    text,
    metadata: metadata ?? {},
    reply_to: { to: thread },
    ...(alias === undefined ? {} : { alias_id: alias }),
    ...(id === undefined ? {} : { message_id: id }),
    ...(shared === undefined ? {} : { shared }),
    ...(sent_at === undefined ? {} : { sent_at }),
  };
}

function isSigned(body: Uint8Array, signature: string | undefined, secret: string): boolean {
  const expected = Buffer.from(sign(body, secret));
  const came = Buffer.from(signature ?? '');
  return came.length === expected.length && timingSafeEqual(came, expected);
}

function sign(body: Uint8Array | string, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

/** The exchange: rooms are threads, and everybody has one of their own. */
const simulator: PlatformSimulator = {
  apiUrlSetting: 'TELEX_API_URL',
  devSettings: (secretOf, api_url) => ({ TELEX_API_URL: api_url, TELEX_SECRET: secretOf('signing') }),
  who: () => ['ada', 'grace'],
  seenIn: (event) => [roomOf(event), event.user],
  delivery(event, settings) {
    const body = JSON.stringify(deliveryOf(event));
    const secret = settings.TELEX_SECRET as { reveal(): string } | undefined;
    const signature = secret && sign(body, event.bad_signature ? 'another secret' : secret.reveal());
    const headers = {
      'Content-Type': 'application/json',
      ...(signature === undefined ? {} : { 'X-Telex-Signature': signature }),
    };
    return { method: 'POST', path: '/telex', headers, body };
  },
  shownOf({ body }) {
    const { linked, email, reason } = JSON.parse(body || '{}') as Record<string, unknown>;
    if (linked === undefined) return [];
    const text = linked ? `You are ${email} from now on.` : `Not linked: ${reason}`;
    return [{ what: 'private', to: 'the sender', text }];
  },
  refusal: ({ status, retryAfterSeconds: wait }) => ({
    status,
    headers: wait === null ? {} : { 'Retry-After': String(wait) },
    body: { error: `line ${status < 500 ? 'refused' : 'down'}` },
  }),
  startApi: () => ({
    answer({ method, path, body }) {
      const call = JSON.parse(Buffer.from(body).toString() || '{}') as { to?: string; text?: string };
      const to = call.to ?? '';
      if (method === 'POST' && path === '/send')
        return { status: 200, body: {}, shown: [{ what: 'message', to, text: call.text ?? '' }] };
      if (method === 'POST' && path === '/typing')
        return { status: 200, body: {}, shown: [{ what: 'typing', to, text: '' }] };
      return { status: 404, body: { error: 'unknown_method' }, shown: [] };
    },
  }),
};

function roomOf({ place, thread, user }: SimulatedEvent): string {
  return [place === 'group' ? 'room' : user, thread].filter((part) => part !== undefined).join('/');
}

function deliveryOf(event: SimulatedEvent): Delivery {
  const { kind, user, text, number, sent_at, place } = event;
  const id = `wire-${number}`;
  if (kind === 'edit') return { edited: { id, text } };
  if (kind === 'command') return { link: { user, token: text.replace(/^\/link\s+/, '') } };
  if (kind !== 'message') return {};
  return { messages: [{ id, user, thread: roomOf(event), text, shared: place === 'group', sent_at }] };
}
