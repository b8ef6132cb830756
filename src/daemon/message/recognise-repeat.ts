import { createHash } from 'node:crypto';
import type { IncomingMessage } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import { duplicateLine } from '../guard/lines.ts';
import { senderKey } from '../guard/user.ts';
import { type PersonKey, personOf } from '../identity/identity.ts';
import type { Services } from '../services.ts';
import type { StoredAnswer } from '../store/idempotency.ts';
import { senderOf } from './guard.ts';
import { ENDED, type Step } from './sequence.ts';
import type { Arrived, Identified, Repeatable } from './turn.ts';

/**
 * Was this very message answered before? (decisions §6, `Idempotency-Key`)
 *
 * Checks the message id of a channel that answers in the request: the first one claims it. A message on an
 * event stream has the key that it was kept under.
 * Adds `idempotency_key`, null where the client sent none.
 * Ends the turn with the first answer when that is finished; throws `duplicate_in_progress` while it is
 * still running, `idempotency_key_reused` when the body is another one.
 */
export const recogniseRepeat: Step<Arrived & Identified, Repeatable> = {
  name: 'recognise-repeat',
  async run(turn, services, line) {
    const key = turn.stream ? turn.stream.idempotency_key : keyOf(turn);
    if (key === null) {
      line.reason = 'no_key';
      return { idempotency_key: null };
    }
    const body = fingerprint(turn.message);
    const onStream = turn.stream ? null : await services.store.streams.findByKey(key);
    if (onStream && onStream.fingerprint !== body) throw otherBody();
    const claim = await services.store.idempotency.claim(key, body);
    if (claim.outcome === 'new') {
      turn.onEnd(async (failed) => {
        if (failed) await services.store.idempotency.release(key);
      });
      return { idempotency_key: key };
    }
    if (claim.outcome === 'other_body') throw otherBody();
    reportRepeat(turn, services);
    if (claim.outcome === 'running') throw stillRunning();
    refuseOthersAnswer(claim.answer, personOf(turn.presented));
    line.reason = 'replayed';
    const { session_id, response } = claim.answer;
    // The trace stands with the conversation that the answer is part of, not under an id that was never used.
    turn.session_id = session_id;
    turn.emit({ type: 'started', session_id });
    turn.emit({ type: 'complete', session_id, response, replayed: true });
    return ENDED;
  },
};

/**
 * The key of a message that its client has numbered; null where it did not. Keys are the user's own: the
 * person of a valid token, else client address and user id together (decisions §7).
 */
export function keyOf(turn: Arrived & Identified): string | null {
  const { message, channel } = turn;
  if (message.message_id === undefined || channel.capabilities.delivery === 'push') return null;
  return JSON.stringify([channel.space, senderKey(senderOf(turn)), message.message_id]);
}

/** Of what was said, to whom and where; tokens are left out, so that a renewed one makes no other body. */
export function fingerprint(message: IncomingMessage): string {
  const body = JSON.stringify([message.user_id, message.thread_id, message.text]);
  return createHash('sha256').update(body).digest('base64url');
}

/** The line of each recognised repeat (service.md, "Loop guard"). */
export function reportRepeat({ request_id, message }: Arrived, services: Services): void {
  services.log.info({ request_id }, duplicateLine(message, message.message_id ?? ''));
}

/**
 * Whoever posted the message of a stream has its key, but the stream may have become a person's by a token in its
 * address: then the answer, and the session's id in it, is that person's alone.
 * @throws session_forbidden
 */
export function refuseOthersAnswer({ reader = null }: StoredAnswer, person: PersonKey | null): void {
  if (reader !== null && reader !== person)
    throw new AgentdError('session_forbidden', 'This message was answered to someone else.');
}

export function otherBody(): AgentdError {
  return new AgentdError('idempotency_key_reused', 'This Idempotency-Key was used with another body.');
}

export function stillRunning(): AgentdError {
  const detail = 'The first request with this Idempotency-Key is still running.';
  return new AgentdError('duplicate_in_progress', detail, { retryAfter: 1 });
}
