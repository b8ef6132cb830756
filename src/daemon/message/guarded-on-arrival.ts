import { returnUnusedTurn } from './return-unused-turn.ts';
import type { Step } from './sequence.ts';
import type { Arrived, Authorized, Guarded } from './turn.ts';

/**
 * Prepares to subtract the turn of a message that the loop guard checked when it was stored, and counted in the session
 * of that moment. The turn is subtracted if the message does not run in that session. Adds nothing; never ends the
 * turn.
 */
export const guardedOnArrival: Step<Arrived & Authorized & Guarded, object> = {
  name: 'guard',
  async run(turn, services, line) {
    line.reason = turn.counted_in === null ? 'guard_off' : 'checked_on_arrival';
    if (turn.counted_in !== null) returnUnusedTurn(turn, turn.counted_in, services);
    return {};
  },
};
