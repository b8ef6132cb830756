import type { Outlet, OutletChanges, TurnEnd } from '../message/outlet.ts';
import type { InboxClaim } from '../store/inbox.ts';

/**
 * The outlet of a message of the inbox. The reply is stored with the message, whole, and sent when the turn has ended;
 * meanwhile the platform shows that an answer is being written.
 * @param runsAgain whether there will be another run after this failure.
 */
export function pushOutlet(claim: InboxClaim, runsAgain: (error: unknown) => boolean): Outlet {
  return {
    leaves: null,
    started: () => {},
    text: () => {},
    tool: () => {},
    changes: async (end: TurnEnd): Promise<OutletChanges> =>
      end.answered ? { reply: { claim, text: end.reply.response } } : { runs_again: runsAgain(end.error) },
    complete: () => {},
  };
}
