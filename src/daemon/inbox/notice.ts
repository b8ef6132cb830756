import { createHash } from 'node:crypto';
import type { ChannelPlugin, JsonObject } from '../../channel/index.ts';
import { timeOrderedId } from '../clock.ts';
import { maskTokens } from '../secret.ts';
import type { Services } from '../services.ts';
import type { NewInboxMessage } from '../store/inbox.ts';
import { publicPartOf, sealReplyTo } from './private-reply-to.ts';

/**
 * A text that is sent without an agent run, as the inbox stores it. All texts to one chat are in one queue. Tokens in
 * the text are masked.
 * @param user_id the user whom the text answers; null if the channel did not say.
 */
export function noticeTo(
  plugin: ChannelPlugin,
  { clock, seal }: Pick<Services, 'clock' | 'seal'>,
  reply_to: JsonObject,
  text: string,
  user_id: string | null,
): NewInboxMessage {
  const now = clock.now();
  const place = createHash('sha256')
    .update(JSON.stringify(publicPartOf(reply_to)))
    .digest('base64url');
  // No session id can be equal to the name of this queue, because a session id has a colon after the channel's name.
  const queue = `${plugin.name}/${place}`;
  const id = timeOrderedId(now);
  return {
    id,
    platform: plugin.name,
    queue,
    session_id: null,
    message_id: null,
    user_id,
    message: null,
    reply_to: sealReplyTo(seal, id, reply_to),
    reply: maskTokens(text.trim()),
    sent_at: now,
    request_id: timeOrderedId(now),
  };
}
