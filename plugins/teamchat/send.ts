import { createHash } from 'node:crypto';
import type { ChannelScope, OutgoingReply } from '../../src/channel/index.ts';
import type { Call } from './client.ts';
import type { Health } from './health.ts';
import { refusalOf } from './refusal.ts';

/** Replies whose parts are remembered. */
const REMEMBERED_MAX = 1000;

/**
 * Sends replies, long ones in several messages. Where one of them fails, and the reply is sent again, those
 * that went out in this process do not go out again.
 */
export function createSend(
  scope: ChannelScope,
  call: Call,
  health: Health,
): (reply: OutgoingReply) => Promise<void> {
  /** Parts that went out, by reply; the latest last. */
  const sent = new Map<string, number>();
  const underWay = new Map<string, Promise<void>>();

  async function post(reply: OutgoingReply): Promise<void> {
    const { channel, thread_ts } = reply.reply_to;
    if (typeof channel !== 'string') throw scope.deliveryFailed('no channel to answer to', { final: true });
    const { render } = await import('./render.ts');
    const parts = render(reply.text);
    for (let part = sent.get(reply.id) ?? 0; part < parts.length; part++) {
      try {
        await call('chat.postMessage', {
          channel,
          ...(typeof thread_ts === 'string' ? { thread_ts } : {}),
          text: parts[part],
          mrkdwn: true,
          parse: 'none',
          link_names: false,
          unfurl_links: false,
          unfurl_media: false,
          client_msg_id: partId(reply.id, part),
        });
      } catch (error) {
        const refusal = refusalOf(error);
        health.refused(refusal);
        throw scope.deliveryFailed(refusal.reason, refusal);
      }
      health.answered();
      remember(reply.id, part + 1);
    }
  }

  function remember(id: string, parts: number): void {
    sent.delete(id);
    sent.set(id, parts);
    const [oldest] = sent.keys();
    if (sent.size > REMEMBERED_MAX && oldest !== undefined) sent.delete(oldest);
  }

  return (reply) => {
    // The daemon gives up on what takes too long, and comes again while it may still be under way.
    const earlier = underWay.get(reply.id);
    if (earlier) return earlier;
    const sending = post(reply).finally(() => underWay.delete(reply.id));
    underWay.set(reply.id, sending);
    return sending;
  };
}

/**
 * The same UUID for the same part of the same reply, by which the platform can know one that it has already: its
 * documentation of chat.postMessage has errors about `client_msg_id`, but does not promise what a repeat does.
 */
function partId(reply: string, part: number): string {
  const hex = createHash('sha256').update(`${reply}:${part}`).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
