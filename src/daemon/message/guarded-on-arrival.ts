import { returnUnusedTurn } from './return-unused-turn.ts';
import type { Step } from './sequence.ts';
import type { Arrived, Authorized, Guarded } from './turn.ts';

/**
 * The loop guard checked this message when it was stored, and counted its turn in the session that the message had
 * then. This step prepares to subtract that turn if the message does not run in that session. Adds nothing; never ends
 * the turn.
 */
export const guardedOnArrival: Step<Arrived & Authorized & Guarded, object> = {
  name: 'guard',
  async run(turn, services, line) {
    line.reason = turn.counted_in === null ? 'guard_off' : 'checked_on_arrival';
    if (turn.counted_in !== null) returnUnusedTurn(turn, turn.counted_in, services);
    return {};
  },
};
