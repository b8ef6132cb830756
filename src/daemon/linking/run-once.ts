import { checkMessageId } from '../../channel/check-message.ts';
import { AgentdError } from '../errors.ts';
import { duplicateLine } from '../guard/verdict.ts';
import type { PersonKey } from '../identity/identity.ts';
import type { Log } from '../process/log.ts';
import type { ClaimKeeper } from '../store/claims/claim-keeper.ts';
import type { Store } from '../store/store.ts';
import { Cancellation } from '../time/time-limit.ts';

/** How long the id of a message is remembered, ms. */
const KNOWN_MS = 7 * 24 * 60 * 60 * 1000;
/** When to retry while the first delivery is being processed, seconds. */
const AGAIN_SECONDS = 1;
/** The id identifies the message, so its text is not compared. */
const FINGERPRINT = '';

interface RunOnceServices {
  store: Pick<Store, 'idempotency'>;
  claims: ClaimKeeper;
  log: Pick<Log, 'info'>;
}

/** The effect that a message asks for, and who sent it. */
interface Effect {
  platform: string;
  user_id: string;
  /** Undefined if the message did not come from a platform. It is then never delivered twice. */
  message_id: string | undefined;
  what: 'link' | 'unlink';
}

/**
 * Runs the effect of a message once, however often the platform delivers the message. A repeat changes nothing,
 * whatever the person has done since, and gets the answer to the first delivery. If the effect failed, it is tried
 * again when the message is delivered again. It is also tried again if the process died during the effect, because
 * nobody knows then whether it was carried out.
 * @param work resolves with an answer that can be written as JSON, and contains no token, and with the person whom the
 * answer names. Null: nobody.
 * @throws `unavailable` while the first delivery is being processed, or if the store cannot be reached.
 */
export async function runOnce<Answer>(
  { store: { idempotency }, claims, log }: RunOnceServices,
  { platform, user_id, message_id, what }: Effect,
  work: () => Promise<{ answer: Answer; person: PersonKey | null }>,
): Promise<Answer> {
  if (message_id === undefined) return (await work()).answer;
  checkMessageId(message_id, (problem) => {
    throw new AgentdError('invalid_request', `A link cannot be changed: message_id ${problem}.`);
  });
  // This key cannot be equal to the key of a request, because the keys of requests are arrays.
  const key = `${what}:${JSON.stringify([platform, user_id, message_id])}`;
  const state = await idempotency.claim(key, FINGERPRINT);
  if (state.outcome === 'done') {
    log.info({ channel: platform }, duplicateLine({ platform, user_id }, message_id));
    return JSON.parse(state.answer.response) as Answer;
  }
  if (state.outcome !== 'new')
    throw new AgentdError('unavailable', 'This request is being processed.', { retryAfter: AGAIN_SECONDS });
  const { claim } = state;
  const drop = claims.hold(claim, idempotency, new Cancellation());
  try {
    const { answer, person } = await work();
    await idempotency.finish(claim, { session_id: '', response: JSON.stringify(answer), person }, KNOWN_MS);
    return answer;
  } catch (error) {
    await idempotency.release(claim);
    throw error;
  } finally {
    drop();
  }
}
