import { isLikeGenerated } from '../session/session.ts';
import { nameSession } from './authorize-sender.ts';
import { turnKey } from './keys.ts';
import type { Step } from './sequence.ts';
import type { Services } from './services.ts';
import type {
  Answering,
  Authorized,
  Deduplicated,
  Guarded,
  Identified,
  Locked,
  NamedSession,
} from './turn.ts';

type Uses = Pick<Services, 'sessions' | 'store'>;

/**
 * Locks the session, so that its messages run one at a time, in the order of arrival (agentd-message(7), "Order and
 * limits").
 *
 * If the session's id is already certain, notifies the outlet that the answer has begun; otherwise resolve-principal
 * does. Adds `claim` (which is held until the turn is stored or ends), `begun`, and the session as it is
 * under the lock: while the message waited, somebody may have signed in, or the session may have begun or ended. Throws
 * `unavailable` if too many messages wait, or if this message has waited too long. A patient message waits until the
 * daemon stops.
 */
export const lockSession: Step<Answering & Identified & Deduplicated & Authorized & Guarded, Locked> = {
  name: 'lock-session',
  async run(turn, services: Uses, line) {
    // The tokens of messages that arrived earlier may not have been checked yet.
    if (turn.ticket?.reached) await turn.ticket.reached;
    const has_started = isIdCertain(turn);
    if (has_started) turn.outlet.started(turn.session_id);
    const { channel, message, credential } = turn;
    const token = credential.kind === 'person' ? credential.verdict.claims : null;
    let { session_tag, session_id, session_is_generated } = turn;
    for (;;) {
      const locked = { session_id, turn_key: mayHaveRun(turn) ? turnKey(turn) : null, token };
      const waiter = { line, patient: turn.patient };
      const locking = services.sessions.acquire(session_tag, locked, waiter, turn.lost);
      turn.ticket?.leave();
      const begun = await locking;
      const { claim } = begun;
      const asked = { channel, message, credential, session_id, session_is_generated };
      const named = nameSession(asked, begun.found);
      if (named.session_tag === session_tag) {
        turn.defer(() => services.sessions.release(claim));
        return { ...named, claim, begun, has_started };
      }
      // The id now belongs to a different session, which must be locked instead.
      line.reason = 'session_changed';
      ({ session_tag, session_id, session_is_generated } = named);
      await services.sessions.release(claim);
    }
  },
};

/**
 * Whether an earlier run of the message may have died with its process. This is possible for a message from a platform
 * or with a key.
 */
function mayHaveRun({ channel, key }: Answering & Deduplicated): boolean {
  return channel.has_platform || key !== null;
}

/**
 * Whether the session's id can no longer change. Sign-in, by this message or by an earlier one, changes a generated id
 * that nobody owns. While the first message of a session is still running, the session is not stored yet.
 */
function isIdCertain({ found, session_id, session_is_generated }: NamedSession): boolean {
  if (found === null) return session_is_generated || !isLikeGenerated(session_id);
  return !found.generated || found.owner !== null;
}
