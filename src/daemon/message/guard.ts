import type { Step } from './sequence.ts';
import type { Arrived, Guarded, Opened } from './turn.ts';

/**
 * Where the loop guard stands in the way of a message: after the session is known to be the sender's,
 * before anything is written. Request limits are held in HTTP; no layer of the guard is set up yet, so
 * every message passes.
 */
export const guard: Step<Arrived & Opened, Guarded> = {
  name: 'guard',
  async run(turn, _house, line) {
    // On event streams it stands before the message is kept, not again before it is answered (decisions §5).
    line.reason = turn.stream ? 'passed_before' : 'no_layers';
    return { guarded: true };
  },
};
