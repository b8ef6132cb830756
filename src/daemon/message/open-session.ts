import { personOf } from '../identity/identity.ts';
import type { Session } from '../session/session.ts';
import { newSession } from './new-session.ts';
import { refuseStranger } from './refuse-stranger.ts';
import type { Step } from './sequence.ts';
import type { Arrived, Identified, Locked, Opened } from './turn.ts';

/**
 * Opens the session that was found, or prepares a new one (agentd-message(7), "Whose session it is").
 *
 * Checks again what authorize-sender checked: while the message waited, another sender may have begun the session. If a
 * private chat on a platform is linked to another person than before, its session is replaced: the new person does not
 * see the history of the old one.
 * Adds `session` and `session_origin`. Throws `session_forbidden` for someone else's session, and has changed nothing of
 * it then.
 */
export const openSession: Step<Arrived & Identified & Locked, Opened> = {
  name: 'open-session',
  async run(turn, services, line) {
    refuseStranger(turn, services, line);
    const { found } = turn;
    if (found && !isHandedOver(turn, found)) {
      line.reason = 'found';
      return { session: found, session_origin: 'found' };
    }
    line.reason = found ? 'begun_anew' : 'created';
    return { session: newSession(turn, services), session_origin: found ? 'replaced' : 'new' };
  },
};

/** A private chat that belonged to one person and is linked to another one now. */
function isHandedOver({ credential, channel, message }: Arrived & Identified, { owner }: Session): boolean {
  if (!channel.has_platform || message.shared) return false;
  const person = personOf(credential);
  return person !== null && owner !== null && owner !== person;
}
