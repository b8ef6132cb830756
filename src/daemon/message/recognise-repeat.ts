import { createHash } from 'node:crypto';
import { AgentdError } from '../errors.ts';
import { wordOf } from '../printable.ts';
import { ENDED, type Step } from './sequence.ts';
import type { Arrived, Identified, Repeatable } from './turn.ts';

/**
 * Was this very message answered before? (decisions §6, `Idempotency-Key`)
 *
 * Checks the message id of a channel that answers in the request: the first one claims it.
 * Adds `idempotency_key`, null where the client sent none.
 * Ends the turn with the first answer when that is finished; throws `duplicate_in_progress` while it is
 * still running, `idempotency_key_reused` when the body is another one.
 */
export const recogniseRepeat: Step<Arrived & Identified, Repeatable> = {
  name: 'recognise-repeat',
  async run(turn, house, line) {
    const { message } = turn;
    if (message.message_id === undefined || turn.channel.capabilities.reply !== 'in-request') {
      line.reason = 'no_key';
      return { idempotency_key: null };
    }
    const key = JSON.stringify([turn.channel.space, sender(turn), message.message_id]);
    const claim = await house.store.idempotency.claim(key, fingerprint(turn));
    if (claim.outcome === 'new') {
      turn.onEnd(async (failed) => {
        if (failed) await house.store.idempotency.release(key);
      });
      return { idempotency_key: key };
    }
    if (claim.outcome === 'other_body') {
      throw new AgentdError('idempotency_key_reused', 'This Idempotency-Key was used with another body.');
    }
    house.log.info(
      { request_id: turn.request_id },
      `[LoopGuard] DUPLICATE platform=${message.platform} user=${wordOf(message.user_id)} message_id=${message.message_id}`,
    );
    if (claim.outcome === 'running') {
      throw new AgentdError(
        'duplicate_in_progress',
        'The first request with this Idempotency-Key is still running.',
        {
          retryAfter: 1,
        },
      );
    }
    line.reason = 'replayed';
    const { session_id, response } = claim.answer;
    // The trace stands with the conversation that the answer is part of, not under an id that was never used.
    turn.session_id = session_id;
    turn.emit({ type: 'complete', session_id, response, replayed: true });
    return ENDED;
  },
};

/** Keys are the user's own: the person of a valid token, else client address and user id together (§7). */
function sender(turn: Arrived & Identified): string[] {
  return turn.presented.kind === 'person'
    ? ['person', turn.presented.verdict.person]
    : ['client', turn.address ?? '', turn.message.user_id];
}

/** Of what was said, to whom and where; tokens are left out, so that a renewed one makes no other body. */
function fingerprint({ message }: Arrived): string {
  const body = JSON.stringify([message.user_id, message.thread_id, message.text]);
  return createHash('sha256').update(body).digest('base64url');
}
