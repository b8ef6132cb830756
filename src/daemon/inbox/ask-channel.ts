import { checkId, checkReplyTo, checkThreadId, ID_MAX } from '../../channel/check-message.ts';
import type { Channel, ChannelPlugin, JsonObject, PrivateSession } from '../../channel/index.ts';
import { plainValue } from '../../channel/plain-value.ts';
import type { Log } from '../process/log.ts';

/** A channel to which the inbox pushes replies. */
export interface PushTarget {
  plugin: ChannelPlugin;
  channel: Channel & { send: NonNullable<Channel['send']> };
}

/** What a channel knows about how to reach a person; null if it fails, since the message must not fail with it. */
export function askChannel<T>(
  log: Pick<Log, 'warn'>,
  { plugin: { name }, channel }: PushTarget,
  ask: (channel: PushTarget['channel']) => T | null | undefined,
): T | null {
  try {
    return ask(channel) ?? null;
  } catch (err) {
    log.warn({ channel: name, err }, `the channel ${name} does not know how to reach a person`);
    return null;
  }
}

/** The `reply_to` of the private chat with a user; null if the channel does not know it. */
export function findPrivateChat(
  log: Pick<Log, 'warn'>,
  target: PushTarget,
  user_id: string | null,
): JsonObject | null {
  if (user_id === null) return null;
  return askChannel(log, target, (channel) => {
    const reply_to = plainValue(channel.privateChat?.(user_id) ?? null, 'privateChat');
    if (reply_to !== null) checkReplyTo(reply_to, refuse('`privateChat`'));
    return reply_to;
  });
}

/**
 * The session of the private chat with a user; null if the channel does not know it. As with messages, it is never one of
 * another channel.
 */
export function findPrivateSession(
  log: Pick<Log, 'warn'>,
  target: PushTarget,
  user_id: string,
  session_id: string,
): PrivateSession | null {
  return askChannel(log, target, (channel) => {
    const session = plainValue(channel.privateSession?.(user_id, session_id) ?? null, 'privateSession');
    if (session === null) return null;
    checkThreadId(session.thread_id, target.plugin.name, refuse('`thread_id` of `privateSession`'));
    checkId(session.channel_id, ID_MAX, refuse('`channel_id` of `privateSession`'));
    return session;
  });
}

function refuse(what: string): (problem: string) => never {
  return (problem) => {
    throw new TypeError(`${what} ${problem}`);
  };
}
