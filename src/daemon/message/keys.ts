import { hash } from 'node:crypto';
import type { IncomingMessage } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import { duplicateLine, type GuardUser } from '../guard/verdict.ts';
import type { PersonKey } from '../identity/identity.ts';
import type { KeyState, StoredAnswer } from '../store/idempotency.ts';
import { foldText } from '../texts/fold-text.ts';
import type { Services } from './services.ts';
import type { Arrived, Deduplicated, Identified } from './turn.ts';

/**
 * The key of a message that the client sent with an `Idempotency-Key`; null if there was none. Keys of different users
 * are separate. The user is the person of a valid token. Without a valid token, the client address and the user id
 * together identify the user.
 */
export function toIdempotencyKey(turn: Arrived & Identified): string | null {
  const { message, channel } = turn;
  if (message.message_id === undefined || channel.has_platform) return null;
  return JSON.stringify([channel.namespace, senderKey(identifySender(turn)), message.message_id]);
}

/**
 * A hash of the text, its sender, its thread, and the answer to a question. Tokens are left out, so that a body with a
 * renewed token counts as the same body.
 */
export function fingerprint({ user_id, thread_id, text, confirm }: IncomingMessage): string {
  const answer = confirm === undefined ? [] : [confirm.id, confirm.approve];
  const body = JSON.stringify([user_id, thread_id, text, ...answer]);
  return hash('sha256', body, 'base64url');
}

/**
 * The first answer under this key, if there is one and this person may get it.
 * @throws `idempotency_key_reused`, `duplicate_in_progress`, `session_forbidden`
 */
export function findFirstAnswer(
  state: KeyState,
  turn: Arrived,
  person: PersonKey | null,
  services: Pick<Services, 'log'>,
): StoredAnswer {
  if (state.outcome === 'other_body') throw otherBody();
  // A request that opens the stream of a message is no repeat of the message.
  if (turn.opened_by === undefined) reportRepeat(turn, services);
  if (state.outcome === 'running') throw stillRunning();
  refuseOthersAnswer(state.answer, person);
  return state.answer;
}

/** Writes the documented log line for a repeat that was recognized. */
export function reportRepeat({ request_id, message }: Arrived, { log }: Pick<Services, 'log'>): void {
  log.info({ request_id }, duplicateLine(message, message.message_id ?? ''));
}

/**
 * Checks that the person may get this answer. Usually the key is enough, because only the client that posted the
 * message knows it. But if a stream was opened with a person's token in its URL, only that person may get the answer
 * and the id of its session.
 * @throws `session_forbidden`
 */
export function refuseOthersAnswer({ reader = null }: StoredAnswer, person: PersonKey | null): void {
  if (reader !== null && reader !== person)
    throw new AgentdError('session_forbidden', 'The answer to this message belongs to someone else.');
}

export function otherBody(): AgentdError {
  return new AgentdError('idempotency_key_reused', 'This Idempotency-Key was used with a different body.');
}

export function stillRunning(): AgentdError {
  const detail = 'The first request with this Idempotency-Key is still running.';
  return new AgentdError('duplicate_in_progress', detail, { retryAfter: 1 });
}

/** The sender of a web client's message, for the keys of the loop guard and of `Idempotency-Key`. */
export function identifySender({
  message,
  credential,
  address,
}: Arrived & Identified): Omit<GuardUser, 'key'> {
  const { platform, user_id } = message;
  return credential.kind === 'person'
    ? { platform, user_id, person: credential.verdict.person, address: null }
    : { platform, user_id, person: null, address: address ?? '' };
}

/**
 * Identifies a message in the journal of actions: all runs of the message have the same key, and no other message has
 * it (agentd-agent(7), "Journal"). If the message has an idempotency key, the result is a hash of it, which all retries
 * of the sender share. Otherwise it is the id of the turn. All runs of a platform's message have the same turn id,
 * which is the id of its inbox entry; so does its second run, after its sender has signed in. Any other message without an idempotency key runs only once.
 */
export function turnKey({
  turn_id,
  key,
  rerun,
}: Pick<Arrived & Deduplicated, 'turn_id' | 'key' | 'rerun'>): string {
  // Hashed, because idempotency keys and user ids may be long, and the turn key is not shown anywhere.
  return key === null ? (rerun?.turn_id ?? turn_id) : hash('sha256', key.key, 'base64url');
}

/**
 * The user whose messages are counted together (agentd-message(7), "Loop guard"). If the platform verifies the sender,
 * it is the platform's user. Otherwise it is the person of a valid token or, without a valid token, the client address
 * and the `user_id` together, so that nobody can lock out somebody else by claiming their id. Keys are JSON, so that
 * two users never share a key, whatever their ids are, and no key is a prefix of another.
 */
export function guardUser(sender: Omit<GuardUser, 'key'>): GuardUser {
  return { ...sender, key: JSON.stringify([sender.platform, ...senderKey(sender)]) };
}

/** The user of a platform, which has verified the id. */
export function platformUser(platform: string, user_id: string): GuardUser {
  return guardUser({ platform, user_id, person: null, address: null });
}

/** The key of a user, without the platform, because web channels share a user's Idempotency-Keys. */
function senderKey({
  user_id,
  person,
  address,
}: Pick<GuardUser, 'user_id' | 'person' | 'address'>): string[] {
  if (person !== null) return ['person', person];
  return address === null ? ['user', user_id] : ['client', address, user_id];
}

/** A hash of the `Idempotency-Key` of a web client's message, and of its body; undefined if there is no key. */
export function requestHash(message: IncomingMessage): string | undefined {
  const { message_id } = message;
  return message_id === undefined
    ? undefined
    : hash('sha256', message_id + fingerprint(message), 'base64url');
}

/** A hash that is the same for texts that count as equal (`foldText`). The guard stores nothing else of a text. */
export function textHash(text: string): string {
  return hash('sha256', foldText(text), 'base64url');
}
