import { createHash } from 'node:crypto';
import type { OutgoingReply, PushScope } from '../../src/channel/index.ts';
import type { Call } from './client.ts';
import type { Health } from './health.ts';
import type { Part } from './question-blocks.ts';
import { refusalOf } from './refusal.ts';

let renderer: Promise<typeof import('./question-blocks.ts')> | undefined;

/** Loads what renders a reply, which only a daemon with this channel needs. */
export function loadRenderer(): Promise<typeof import('./question-blocks.ts')> {
  renderer ??= import('./question-blocks.ts');
  return renderer;
}

/** Sends replies. A long reply is sent as several messages. */
export function createSend(
  scope: PushScope,
  call: Call,
  health: Health,
): (reply: OutgoingReply) => Promise<void> {
  async function post({ id, reply_to }: OutgoingReply, { text, blocks }: Part, part: number): Promise<void> {
    const { channel, thread_ts } = reply_to;
    if (typeof channel !== 'string')
      throw scope.deliveryFailed('the reply names no channel', { final: true });
    try {
      await call('chat.postMessage', {
        channel,
        ...(typeof thread_ts === 'string' ? { thread_ts } : {}),
        text,
        ...(blocks === undefined ? {} : { blocks }),
        mrkdwn: true,
        parse: 'none',
        link_names: false,
        unfurl_links: false,
        unfurl_media: false,
        client_msg_id: partId(id, part),
      });
    } catch (error) {
      const refusal = refusalOf(error);
      health.refused(refusal);
      throw scope.deliveryFailed(refusal.reason, refusal);
    }
    health.answered();
  }

  return (reply) =>
    scope.sendParts(
      reply.id,
      async () => (await loadRenderer()).partsOf(reply.text, reply.confirmation),
      (one, part) => post(reply, one, part),
    );
}

/**
 * The UUID of a part of a reply. It is the same for each attempt, so that the platform can recognize a repeat. The
 * documentation of chat.postMessage lists errors about `client_msg_id`, but does not promise that repeats are ignored.
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
