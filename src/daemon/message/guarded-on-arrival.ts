import { returnUnusedTurn } from './return-unused-turn.ts';
import type { Step } from './sequence.ts';
import type { Arrived, Authorized, Guarded } from './turn.ts';

/**
 * The loop guard let the message through when it was stored. Adds `guarded`; never ends the turn. The turn that was
 * counted is taken back if the message does not run in this session after all.
 */
export const guardedOnArrival: Step<Arrived & Authorized, Guarded> = {
  name: 'guard',
  async run(turn, services, line) {
    line.reason = services.settings.LOOP_GUARD_ENABLED ? 'checked_on_arrival' : 'guard_off';
    if (services.settings.LOOP_GUARD_ENABLED) returnUnusedTurn(turn, services);
    return { guarded: true };
  },
};
