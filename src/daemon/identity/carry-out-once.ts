import { checkMessageId } from '../../channel/check-message.ts';
import { AgentdError } from '../errors.ts';
import { duplicateLine } from '../guard/lines.ts';
import type { Services } from '../services.ts';

/** How long a message is known by its id (decisions §6), ms. */
const KNOWN_MS = 7 * 24 * 60 * 60 * 1000;
/** When to come again while the first delivery is under way, seconds. */
const AGAIN_SECONDS = 1;
/** An id names one message, so two with the same words need not be told apart. */
const FINGERPRINT = '';

/** What a message asks for, of whom it came. */
export interface Asked {
  platform: string;
  user_id: string;
  /** Undefined: no platform repeats it. */
  message_id: string | undefined;
  what: 'link' | 'unlink';
}

/**
 * Does what a message asks for once, however often the platform delivers it: a repeat changes nothing, whatever
 * the person has done since, and gets the answer of the first. What threw is begun anew when the message comes
 * again, as is what a process died during: whether it was done is not known then.
 * @param work resolves with what can be written as JSON, and holds no token.
 * @throws `unavailable` while the first delivery is under way, or where the store is out of reach.
 */
export async function carryOutOnce<Answer>(
  { store, log }: Pick<Services, 'store' | 'log'>,
  { platform, user_id, message_id, what }: Asked,
  work: () => Promise<Answer>,
): Promise<Answer> {
  if (message_id === undefined) return work();
  checkMessageId(message_id, (problem) => {
    throw new AgentdError('invalid_request', `A link cannot be changed: message_id ${problem}.`);
  });
  const { idempotency } = store;
  // No key of a request begins like this: those are arrays.
  const key = `${what}:${JSON.stringify([platform, user_id, message_id])}`;
  const claim = await idempotency.claim(key, FINGERPRINT);
  if (claim.outcome === 'done') {
    log.info({ channel: platform }, duplicateLine({ platform, user_id }, message_id));
    return JSON.parse(claim.answer.response) as Answer;
  }
  if (claim.outcome !== 'new')
    throw new AgentdError('unavailable', 'This is being done.', { retryAfter: AGAIN_SECONDS });
  try {
    const answer = await work();
    await idempotency.finish(key, { session_id: '', response: JSON.stringify(answer) }, KNOWN_MS);
    return answer;
  } catch (error) {
    await idempotency.release(key);
    throw error;
  }
}
