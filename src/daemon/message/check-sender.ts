import { refuseStranger } from './open-session.ts';
import { resolveSession } from './resolve-session.ts';
import type { Step } from './sequence.ts';
import type { Admitted, Arrived, Identified } from './turn.ts';

/**
 * May the sender speak in this session? (decisions §3)
 *
 * Asked before the guard, so that a message that is refused counts for nothing, neither in the session nor
 * for its user; and before the session's turn is waited for.
 * Adds `admitted` and the session as it is named now. Throws `session_forbidden` for someone else's session.
 */
export const checkSender: Step<Arrived & Identified, Admitted> = {
  name: 'check-sender',
  async run(turn, services, line) {
    // In order of arrival from here on, so that the guard blocks the last ones of a burst and not the first.
    await turn.place?.reached;
    const named = await resolveSession(turn, services);
    refuseStranger({ ...turn, ...named }, services, line);
    if (named.session_id !== turn.session_id) line.reason = named.found ? 'former_id' : 'former_id_ignored';
    return { admitted: true, ...named };
  },
};
