import type { House } from '../house.ts';
import type { InboxClaim } from '../store/inbox.ts';

/** Says nothing of what failed: it may be read by a group. */
const APOLOGY = 'Sorry, I could not answer your message. Please try again later.';

/**
 * The second door of failure, for messages whose request was answered long ago (the first is
 * http/problem.ts): after the last attempt the person gets one short apology, in the place of the reply and
 * with the same care. There is none for an apology that failed, nor for a text that was said without a run.
 * False where the message is not the caller's any more.
 *
 * @param failure a code and words, kept with the message for the operator.
 */
export function apologise(house: House, claim: InboxClaim, failure: string): Promise<boolean> {
  const { inbox } = house.store;
  const { message } = claim;
  if (message.apology !== null || message.session_id === null) return inbox.fail(claim, failure);
  return inbox.apologise(claim, APOLOGY, failure);
}
