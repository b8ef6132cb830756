import { refuseStranger } from './refuse-stranger.ts';
import { resolveSession } from './resolve-session.ts';
import type { Step } from './sequence.ts';
import type { Arrived, Authorized, Identified } from './turn.ts';

/**
 * Checks whether the sender may use this session (agentd-message(7), "Whose session it is").
 *
 * Runs before the guard, so that a refused message is counted neither in the session nor for its user. Also runs before
 * the message waits for the session's lock. Adds `authorized`, and the session with its current id. Throws
 * `session_forbidden` if the session belongs to someone else.
 */
export const authorizeSender: Step<Arrived & Identified, Authorized> = {
  name: 'authorize-sender',
  async run(turn, services, line) {
    // From here on, messages continue in the order of arrival, so that the guard blocks the last messages of a burst
    // and not the first.
    await turn.ticket?.reached;
    const named = await resolveSession(turn, services);
    refuseStranger({ ...turn, ...named }, services, line);
    if (named.session_id !== turn.session_id) line.reason = named.found ? 'former_id' : 'former_id_ignored';
    return { authorized: true, ...named };
  },
};
