import { personOf } from '../identity/identity.ts';
import {
  fingerprint,
  keyOf,
  otherBody,
  refuseOthersAnswer,
  reportRepeat,
  stillRunning,
} from '../message/recognise-repeat.ts';
import { ENDED, type Step } from '../message/sequence.ts';
import type { Identified, Repeatable } from '../message/turn.ts';
import { answerAgain, keep, type Starting } from './keep-message.ts';

/**
 * Was this very message sent before, on a stream or otherwise? (decisions §6, `Idempotency-Key`)
 *
 * Adds `idempotency_key`, null where the client sent none. Ends with the same stream again; where the message
 * was answered otherwise, with a stream that will tell that answer. Throws `duplicate_in_progress` while it
 * is being answered otherwise, `idempotency_key_reused` when the body is another one.
 */
export const recogniseStream: Step<Starting & Identified, Repeatable> = {
  name: 'recognise-repeat',
  async run(turn, services, line) {
    const key = keyOf(turn);
    if (key === null) {
      line.reason = 'no_key';
      return { idempotency_key: null };
    }
    const stream = await services.store.streams.findByKey(key);
    if (stream) {
      answerAgain(turn, stream, services);
      return ENDED;
    }
    const known = await services.store.idempotency.look(key, fingerprint(turn.message));
    if (known.outcome === 'new') return { idempotency_key: key };
    if (known.outcome === 'other_body') throw otherBody();
    reportRepeat(turn, services);
    if (known.outcome === 'running') throw stillRunning();
    refuseOthersAnswer(known.answer, personOf(turn.presented));
    line.reason = 'replayed';
    await keep(turn, key, services);
    return ENDED;
  },
};
