import { refuseStranger } from './refuse-stranger.ts';
import { resolveSession } from './resolve-session.ts';
import type { Step } from './sequence.ts';
import type { Arrived, Authorized, Identified } from './turn.ts';

/**
 * May the sender use this session? (agentd-message(7), "Whose session it is")
 *
 * Asked before the guard, so that a message that is refused counts for nothing, neither in the session nor for its user,
 * and before the session's lock is waited for.
 * Adds `authorized` and the session as it is named now. Throws `session_forbidden` for someone else's session.
 */
export const authorizeSender: Step<Arrived & Identified, Authorized> = {
  name: 'authorize-sender',
  async run(turn, services, line) {
    // In order of arrival from here on, so that the guard blocks the last ones of a burst and not the first.
    await turn.ticket?.reached;
    const named = await resolveSession(turn, services);
    refuseStranger({ ...turn, ...named }, services, line);
    if (named.session_id !== turn.session_id) line.reason = named.found ? 'former_id' : 'former_id_ignored';
    return { authorized: true, ...named };
  },
};
