import { returnUnusedTurn } from './return-unused-turn.ts';
import type { Step } from './sequence.ts';
import type { Arrived, Authorized, Guarded } from './turn.ts';

/**
 * The loop guard let the message through when it was stored, and counted it in the session of that moment. Adds
 * nothing; never ends the turn. If the message does not run in that session after all, the turn is subtracted again.
 */
export const guardedOnArrival: Step<Arrived & Authorized & Guarded, object> = {
  name: 'guard',
  async run(turn, services, line) {
    line.reason = turn.counted_in === null ? 'guard_off' : 'checked_on_arrival';
    if (turn.counted_in !== null) returnUnusedTurn(turn, turn.counted_in, services);
    return {};
  },
};
