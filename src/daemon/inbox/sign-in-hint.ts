import { fillIn, type JsonObject, type PrivateSession } from '../../channel/index.ts';
import { plainValue } from '../../channel/plain-value.ts';
import type { Services } from '../message/services.ts';
import type { InboxMessage, SignInHint, SignInHinted } from '../store/inbox/inbox.ts';
import { TimeLimit } from '../time/time-limit.ts';
import { askChannel, findPrivateChat, findPrivateSession, type PushTarget } from './ask-channel.ts';
import { createNotice } from './notify.ts';
import { omitPrivate } from './outgoing.ts';

/** The end of the id of a private message about sign-in. */
const PRIVATE = '-sign-in';
/** How long the platform has to take the private message, ms. The reply waits for it. */
const PRIVATE_MS = 10_000;

/** Where the reader of a reply in a group reads alone. */
interface PrivatePlace {
  reply_to: JsonObject;
  /** Null if the session of that chat is not known. */
  session: PrivateSession | null;
}

/**
 * Writes privately to the person who must sign in after a question in a group (agentd-identity(7), "The question waits").
 * If that fails for any reason, the reply asks the person to write first; nothing enters the failed list.
 * @param reply_to of the question, as the channel gets it
 * @returns the completed reply
 */
export async function hintAtSignIn(
  services: Services,
  target: PushTarget,
  message: InboxMessage,
  hint: SignInHint,
  reply_to: JsonObject,
): Promise<SignInHinted> {
  const { isWritten, place } = await writePrivately(services, target, message, hint);
  const url = askChannel(services.log, target, (channel) => plainValue(channel.chatUrl?.(), 'chatUrl'));
  const write = url === null ? hint.write : fillIn(hint.write_at, { url });
  const sentence = ` ${isWritten ? hint.written : write}`;
  const { reply, question, user_id } = message;
  const text = reply ?? '';
  return {
    reply: `${text.slice(0, hint.at)}${sentence}${text.slice(hint.at)}`,
    begins_at: question === null ? null : question.begins_at + sentence.length,
    private_run:
      place?.session == null
        ? null
        : {
            queue: place.session.thread_id,
            session_id: place.session.thread_id,
            channel_id: place.session.channel_id,
            reply_to: omitPrivate(place.reply_to),
            follow_up: {
              ...createNotice(target.plugin, services, reply_to, hint.answered, user_id),
              is_hint: true,
            },
          },
  };
}

async function writePrivately(
  { clock, log, stopping }: Services,
  target: PushTarget,
  { id, request_id, user_id, session_id }: InboxMessage,
  { private_text }: SignInHint,
): Promise<{ isWritten: boolean; place: PrivatePlace | null }> {
  const { plugin, channel } = target;
  const reply_to = findPrivateChat(log, target, user_id);
  if (reply_to === null || user_id === null) return { isWritten: false, place: null };
  const placed = () => ({
    reply_to,
    session: findPrivateSession(log, target, user_id, session_id ?? ''),
  });
  const limit = new TimeLimit(clock, PRIVATE_MS, [stopping]);
  try {
    const text = { id: `${id}${PRIVATE}`, session_id: null, text: private_text, reply_to };
    await limit.within(channel.send(text));
    return { isWritten: true, place: placed() };
  } catch (error) {
    stopping.throwIfAborted();
    const about = { request_id, channel: plugin.name, message: id };
    log.info({ ...about, err: error }, 'a person could not be written to privately');
    return { isWritten: false, place: placed() };
  } finally {
    limit.lift();
  }
}
