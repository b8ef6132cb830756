import { AgentdError } from '../errors.ts';
import { personOf } from '../identity/identity.ts';
import { isChannelSessionId } from '../session/ids.ts';
import type { StepLine } from '../trace/trace-record.ts';
import type { Services } from './services.ts';
import type { Arrived, Identified, NamedSession } from './turn.ts';

/**
 * Refuses a sender who may not use the session. On a platform, the platform decides who takes part in a session. A web
 * client can name any session.
 * @throws `session_forbidden` if the session belongs to someone else, or if only a channel may use an id of this form.
 */
export function refuseStranger(
  { found: session, channel, session_id, message, credential }: Arrived & Identified & NamedSession,
  { channelNames }: Pick<Services, 'channelNames'>,
  line: StepLine,
): void {
  if (session === null) {
    if (!channel.has_platform && isChannelSessionId(session_id, channelNames))
      throw forbidden(line, 'channel_id');
    return;
  }
  if (session.namespace !== channel.namespace) throw forbidden(line, 'other_channel');
  if (channel.has_platform) return;
  if (session.user_id !== message.user_id) throw forbidden(line, 'other_user');
  const person = personOf(credential);
  if (person !== null && session.owner !== null && session.owner !== person)
    throw forbidden(line, 'other_person');
}

/**
 * The error for every refusal. Its text is always the same: a stranger must not learn whose session it is, or why
 * access was refused.
 */
function forbidden(line: StepLine, why: string): AgentdError {
  line.detail = { why };
  return new AgentdError('session_forbidden', 'This session belongs to someone else.');
}
