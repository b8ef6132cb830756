import type { ChannelPlugin, IncomingMessage, JsonObject } from '../../src/channel/index.ts';

/** What the fake platform posts: messages, or a command that the channel answers by itself. */
interface Delivery {
  messages?: {
    id?: string;
    user: string;
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
  settings: [{ name: 'TELEX_API_URL', kind: 'url', required: true, sentence: 'Address of the exchange.' }],
  detect: (settings) => settings.TELEX_API_URL !== undefined,
  capabilities: { reply: 'later', streaming: false, textLimit: null, markdown: 'none', typing: true },
  create(scope) {
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
        throw scope.deliveryFailed(`status ${response.status}`, {
          final: response.status >= 400 && response.status < 500 && response.status !== 429,
          ...(retryAfter === null ? {} : { retryAfterSeconds: Number(retryAfter) }),
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
    ...(id === undefined ? {} : { message_id: id }),
    ...(shared === undefined ? {} : { shared }),
    ...(sent_at === undefined ? {} : { sent_at }),
  };
}
