import type { Step } from './sequence.ts';
import type { Arrived, InTurn } from './turn.ts';

/**
 * Messages of one session are processed one at a time, in order of arrival (decisions §3).
 *
 * Adds `lease`, held until the turn ends. Throws `unavailable` when too many wait, or for too long; a
 * message of the inbox waits until the daemon stops.
 */
export const takeTurn: Step<Arrived, InTurn> = {
  name: 'take-turn',
  async run(turn, house, line) {
    // Those that arrived earlier may still be at their token's checks.
    await turn.place?.reached;
    const asked = house.queue.takeTurn(turn.session_id, line, turn.inbox ? house.stopping : undefined);
    turn.place?.leave();
    const lease = await asked;
    turn.onEnd(() => lease.release());
    return { lease };
  },
};
