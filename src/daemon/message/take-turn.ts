import type { Session } from '../session/session.ts';
import { resolveSession } from './resolve-session.ts';
import type { Step } from './sequence.ts';
import type { Admitted, Arrived, Identified, InTurn } from './turn.ts';

/** Sign-in changes the id of this session, by this message or by one that it waits for. */
function mayChangeId(session: Session | null): boolean {
  return session?.generated === true && session.owner === null;
}

/**
 * Messages of one session are processed one at a time, in order of arrival (decisions §3).
 *
 * Tells the reader that the answer has begun, if the session's id is certain by now; else bind-identity does.
 * Adds `lease`, held until the turn ends, and the session as it is named under it: while the message waited, another
 * one may have signed in, begun the session or ended it. Throws `unavailable` when too many wait, or for too long;
 * a message of the inbox waits until the daemon stops.
 */
export const takeTurn: Step<Arrived & Identified & Admitted, InTurn> = {
  name: 'take-turn',
  async run(turn, services, line) {
    // Those that arrived earlier may still be at their token's checks.
    await turn.place?.reached;
    let { session_tag, session_id, session_is_generated } = turn;
    const told_started = !mayChangeId(turn.found);
    if (told_started) turn.emit({ type: 'started', session_id });
    for (;;) {
      const asked = services.queue.takeTurn(session_tag, line, turn.inbox ? services.stopping : undefined);
      turn.place?.leave();
      const lease = await asked;
      try {
        const named = await resolveSession({ ...turn, session_id, session_is_generated }, services);
        if (named.session_tag === session_tag) {
          turn.onEnd(() => lease.release());
          return { lease, told_started, ...named };
        }
        // The id names another session by now: that one's turn is to be waited for.
        line.reason = 'session_changed';
        ({ session_tag, session_id, session_is_generated } = named);
      } catch (error) {
        await lease.release();
        throw error;
      }
      await lease.release();
    }
  },
};
