import type { Outlet, OutletChanges, TurnEnd } from '../message/outlet.ts';
import type { AttemptOutcome, InboxClaim } from '../store/inbox.ts';

/**
 * The outlet of a message in the inbox. The whole reply is stored with the message, and is sent when the turn has
 * ended. Until then, the platform shows that an answer is being written.
 * @param afterFailure decides what happens after a failed run.
 */
export function pushOutlet(
  claim: InboxClaim,
  afterFailure: (error: unknown) => Promise<AttemptOutcome>,
): Outlet {
  return {
    leaves: null,
    started: () => {},
    text: () => {},
    tool: () => {},
    changes: async (end: TurnEnd): Promise<OutletChanges> => {
      if (end.answered) {
        const { response, question } = end.reply;
        return { reply: { claim, text: response, question: question?.stored ?? null } };
      }
      const outcome = await afterFailure(end.error);
      return outcome.kind === 'notify' || outcome.kind === 'failed'
        ? { failed: { claim, outcome } }
        : { runs_again: true };
    },
    complete: () => {},
  };
}
