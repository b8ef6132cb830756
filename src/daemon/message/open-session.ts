import { AgentdError } from '../errors.ts';
import { personOf } from '../identity/identity.ts';
import type { Services } from '../services.ts';
import { clientTag } from '../session/client-tag.ts';
import { isChannelSessionId } from '../session/ids.ts';
import type { Session } from '../session/session.ts';
import type { StepLine } from '../trace/trace-record.ts';
import type { Step } from './sequence.ts';
import type { Arrived, Identified, InTurn, NamedSession, Opened } from './turn.ts';

/**
 * Opens the session that was found, or prepares a new one; whose it is (decisions §3).
 *
 * Checks, as check-sender did, that the session is of this channel's space and, where the client names it,
 * that it belongs to this `user_id` and to the person of the token, if there is a valid one: until no other
 * message of it ran, another sender may have begun it.
 * Where a private chat of a channel that answers later is linked to another person than before, the old
 * session ends (decisions §4): what one person said there is not the other's history.
 * Adds `session` and `session_is_new`. A refused message touches nothing of the session.
 * Throws `session_forbidden` for someone else's session.
 */
export const openSession: Step<Arrived & Identified & InTurn, Opened> = {
  name: 'open-session',
  async run(turn, services, line) {
    const { message, channel, session_id, found } = turn;
    refuseStranger(turn, services, line);
    if (found) {
      if (!changedHands(turn, found)) {
        line.reason = 'found';
        return { session: found, session_is_new: false };
      }
      await services.store.sessions.end(session_id);
    }
    line.reason = found ? 'begun_anew' : 'created';
    const now = services.clock.now();
    const session: Session = {
      session_id,
      former_id: null,
      user_id: message.user_id,
      platform: message.platform,
      space: channel.space,
      generated: turn.session_is_generated,
      ...(turn.address === null ? {} : { client: clientTag(turn.address) }),
      owner: null,
      metadata: {},
      bound: null,
      turns: 0,
      created_at: now,
      last_active_at: now,
      expires_at: now + services.settings.SESSION_TTL_SECONDS * 1000,
    };
    return { session, session_is_new: true };
  },
};

/**
 * Channels that name their own threads let many users speak in one; there the platform says who is in it.
 * @throws session_forbidden where the session is someone else's, or the id is one that only a channel gives.
 */
export function refuseStranger(
  turn: Arrived & Identified & NamedSession,
  services: Pick<Services, 'channelNames'>,
  line: StepLine,
): void {
  const { found: session } = turn;
  const inRequest = turn.channel.capabilities.reply === 'in-request';
  if (session === null) {
    if (inRequest && isChannelSessionId(turn.session_id, services.channelNames))
      throw forbidden(line, 'channel_id');
    return;
  }
  if (session.space !== turn.channel.space) throw forbidden(line, 'other_channel');
  if (!inRequest) return;
  if (session.user_id !== turn.message.user_id) throw forbidden(line, 'other_user');
  const person = personOf(turn.presented);
  if (person !== null && session.owner !== null && session.owner !== person)
    throw forbidden(line, 'other_person');
}

/** A private chat that was one person's, and is now linked to another. */
function changedHands({ presented, channel, message }: Arrived & Identified, session: Session): boolean {
  if (channel.capabilities.reply !== 'later' || message.shared) return false;
  return presented.kind === 'person' && session.owner !== null && session.owner !== presented.verdict.person;
}

/** One text for all cases: a stranger does not learn whose session it is, or why it is not theirs. */
function forbidden(line: StepLine, why: string): AgentdError {
  line.detail = { why };
  return new AgentdError('session_forbidden', 'This session belongs to someone else.');
}
