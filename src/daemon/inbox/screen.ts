import type { ChannelPlugin, EnqueueOutcome } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import { guardLimits } from '../guard/limits.ts';
import { tell } from '../guard/tell.ts';
import { guardUser } from '../guard/user.ts';
import type { GuardedMessage, GuardVerdict } from '../guard/verdict.ts';
import { sendersTexts } from '../linking/senders-texts.ts';
import { guardedText } from '../message/guarded-text.ts';
import type { Services } from '../message/services.ts';
import type { Arrival } from '../store/inbox.ts';
import { noticeTo } from './notice.ts';
import { sealReplyTo } from './private-reply-to.ts';

/** A message that a person wrote, in contrast to a notice. */
export type ArrivedMessage = Arrival['message'];

/**
 * Lets the loop guard screen messages as they arrive (agentd-message(7), "Loop guard"), and stores the messages that
 * pass. The guard uses the platform's times. If a message is delivered again, it gets the verdict of its first
 * delivery.
 * @returns the outcome for each message, once it is durable.
 * @throws `unavailable` if too many messages wait.
 */
export async function screen(
  plugin: ChannelPlugin,
  services: Services,
  arrived: readonly ArrivedMessage[],
): Promise<EnqueueOutcome[]> {
  const { store, settings, log, observer, seal } = services;
  const stored = arrived.map((message) => ({
    ...message,
    reply_to: sealReplyTo(seal, message.id, message.reply_to),
  }));
  if (!settings.LOOP_GUARD_ENABLED) return (await store.inbox.enqueue(stored)) ?? tooMany();
  const arrivals = await Promise.all(
    arrived.map(async (message, index) => ({
      message: stored[index] as ArrivedMessage,
      guarded: await guardedOf(message, services),
      notice: noticeTo(
        plugin,
        services,
        message.reply_to,
        await noticeText(plugin, message, services),
        message.user_id,
      ),
    })),
  );
  const { verdicts, outcomes } = await store.inbox.screen(arrivals, guardLimits(settings));
  arrivals.forEach(({ message, guarded }, index) => {
    const verdict = verdicts[index] as GuardVerdict;
    tell(verdict, guarded, message.request_id, log);
    if (!verdict.allowed && !verdict.repeated) observer.messageBlocked(plugin.name, verdict.reason);
  });
  return (outcomes ?? tooMany()).map((outcome, index) => {
    return verdicts[index]?.allowed && outcome !== null ? outcome : 'blocked';
  });
}

async function guardedOf(arrived: ArrivedMessage, services: Services): Promise<GuardedMessage> {
  const { message, session_id, platform, message_id, sent_at } = arrived;
  const user = guardUser({ platform, user_id: message.user_id, person: null, address: null });
  const text = await guardedText(message, session_id, services);
  return { user, session_id, text, message_id, sent_at };
}

/** The notice that a session has reached its message limit. Its placeholders are filled in from the verdict. */
async function noticeText(
  plugin: ChannelPlugin,
  { message }: ArrivedMessage,
  services: Services,
): Promise<string> {
  return (await sendersTexts(services, plugin, message)).template('turn_limit_notice');
}

/** Rejects the delivery. Nothing was stored, and the platform delivers it again. */
export function tooMany(): never {
  throw new AgentdError('unavailable', 'Too many messages are waiting.', { retryAfter: 30 });
}
