import { AgentdError } from '../errors.ts';
import { personFrom } from '../identity/identity.ts';
import { generateSessionId, isChannelSessionId, type Session, sessionTag } from '../session/session.ts';
import type { StepLine } from '../trace/trace-record.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type { Arrived, Authorized, Identified, NamedSession } from './turn.ts';

type Uses = Pick<Services, 'store' | 'channelNames'>;

/**
 * Checks whether the sender may use this session (agentd-message(7), "Whose session it is").
 *
 * Runs before the guard, so that a refused message is counted neither in the session nor for its user. Also runs before
 * the message waits for the session's lock. Adds `authorized`, and the session with its current id. Throws
 * `session_forbidden` if the session belongs to someone else. For the second run of a message, throws `SignInChanged` if
 * its sender is no longer signed in as the person for whom it was queued (agentd-identity(7), "The question waits").
 */
export const authorizeSender: Step<Arrived & Identified, Authorized> = {
  name: 'authorize-sender',
  async run(turn, services: Uses, line) {
    // From here on, messages continue in the order of arrival, so that the guard blocks the last messages of a burst
    // and not the first.
    if (turn.ticket?.reached) await turn.ticket.reached;
    const { rerun, credential } = turn;
    if (rerun !== undefined && personFrom(credential) !== rerun.person) throw new SignInChanged();
    const named = nameSession(turn, await services.store.sessions.find(turn.session_id));
    refuseStranger(turn, named, services, line);
    if (named.session_id !== turn.session_id) line.reason = named.found ? 'former_id' : 'former_id_ignored';
    return { authorized: true, ...named };
  },
};

/** The sender of a message is no longer signed in as the person for whom the message was to be run again. */
export class SignInChanged extends AgentdError {
  constructor() {
    super('session_forbidden', 'The sign-in of the sender has changed.');
  }
}

/**
 * Refuses a sender who may not use the session that was found. On a platform, the platform decides who takes part in a
 * session. A web client can name any session.
 * @throws `session_forbidden` if the session belongs to someone else, or if only a channel may use an id of this form.
 */
export function refuseStranger(
  { channel, message, credential }: Arrived & Identified,
  { found: session, session_id }: NamedSession,
  { channelNames }: Pick<Uses, 'channelNames'>,
  line: StepLine,
): void {
  if (!channel.has_platform && isChannelSessionId(session_id, channelNames))
    throw forbidden(line, 'channel_id');
  if (session === null) return;
  if (session.namespace !== channel.namespace) throw forbidden(line, 'other_channel');
  if (channel.has_platform) return;
  if (session.user_id !== message.user_id) throw forbidden(line, 'other_user');
  const person = personFrom(credential);
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

/** The members of a turn that decide which session it belongs to. */
type Turn = Pick<Arrived & Identified, 'session_id' | 'session_is_generated' | 'credential'> & {
  channel: Pick<Arrived['channel'], 'name'>;
  message: Pick<Arrived['message'], 'user_id'>;
};

/**
 * Finds the session that a message belongs to (agentd-message(7), "Sign-in changes the id").
 *
 * Sign-in replaces a generated id, because the client that began the session knows it. The previous id leads to the
 * session only with the owner's valid token. Any other message with the previous id is treated as if it named no
 * session: it is answered in a separate session, so that nobody is blocked and nothing is revealed.
 * @param found the session that the message names, by its current id or by its id before sign-in.
 */
export function nameSession(turn: Turn, found: Session | null): NamedSession {
  const { session_id, session_is_generated, credential } = turn;
  if (found === null || found.session_id === session_id) {
    return named(found, session_id, session_is_generated);
  }
  if (credential.kind === 'person' && credential.verdict.person === found.owner) {
    return named(found, found.session_id, false);
  }
  return named(null, generateSessionId(turn.channel.name, turn.message.user_id), true);
}

function named(found: Session | null, session_id: string, session_is_generated: boolean): NamedSession {
  return { found, session_id, session_is_generated, session_tag: found ? sessionTag(found) : session_id };
}
