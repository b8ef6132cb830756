import { AgentdError } from '../../errors.ts';
import type { PersonKey } from '../../identity/identity.ts';
import type { Action } from '../../store/actions/actions.ts';

/** The properties of a message that matter for an action that is waiting in its session. */
export interface AnswerFacts {
  /** The answer in the message, given by a listed word or a button; `other` for any other message. */
  says: 'confirm' | 'decline' | 'other';
  /** The message names the action by its id, as a button does. False for a word or any other text. */
  names_action: boolean;
  /** The channel user. */
  user_id: string;
  /**
   * Who must confirm the actions that a message like this one requests: the person, or else the platform's user
   * (`principalKey`). Null for an anonymous web client.
   */
  confirmer: string | null;
  /** The person whom the message acts for; null if there is none. */
  person: PersonKey | null;
  /** A valid token came with the message, or the link of its sender has one. A stored context does not count. */
  has_token: boolean;
  /** The message says that the person signs out. */
  signs_out: boolean;
  /** The platform gave the channel user's id to somebody else. */
  has_changed_hands: boolean;
  /** When the daemon accepted the message, ms since the epoch. */
  accepted_at: number;
}

export type AnswerVerdict =
  /** The message neither confirms nor declines the action, which keeps waiting. */
  | 'left'
  | 'confirmed'
  | 'declined'
  /** It is an answer, but without a usable token. The action keeps waiting. */
  | 'sign_in'
  /** The person has signed in or out since the question. */
  | 'withdrawn'
  /** The button belongs to somebody else's action. */
  | 'foreign';

/**
 * The meaning of a message for a pending action of its session (agentd-agent(7), "Confirmation"). The channel user and
 * the person must both be the same as for the message that requested the action. A word counts only if the newest reply
 * that had left before its message was accepted ended with the question; a button is part of the question.
 */
export function judgeAnswer(
  action: Pick<Action, 'user_id' | 'principal' | 'seen_replies'>,
  facts: AnswerFacts,
): AnswerVerdict {
  if (action.user_id !== facts.user_id || facts.has_changed_hands)
    return facts.names_action ? 'foreign' : 'left';
  if (facts.signs_out) return 'withdrawn';
  if (action.principal !== facts.confirmer && facts.person !== null) return 'withdrawn';
  if (facts.says === 'other') return 'left';
  if (!facts.names_action && !wasAskedLast(action, facts.accepted_at)) return 'left';
  // The sender is no longer known: the sign-in has expired, or the message came without a token.
  if (action.principal !== facts.confirmer) return 'sign_in';
  if (facts.says !== 'confirm') return 'declined';
  return facts.person !== null && !facts.has_token ? 'sign_in' : 'confirmed';
}

/**
 * Whether the newest reply that had left by then ended with the question. A message that was accepted in the same
 * millisecond may have come after it.
 */
export function wasAskedLast(
  { seen_replies = [] }: Pick<Action, 'seen_replies'>,
  accepted_at: number,
): boolean {
  return seen_replies.findLast(({ at }) => at <= accepted_at)?.asks === true;
}

/**
 * The error if a web client answers a question, but no action waits for an answer from this client.
 * @param detail what became of the actions, if the client may know it
 */
export function confirmationGone(detail = 'This action is not waiting for an answer from you.'): AgentdError {
  return new AgentdError('confirmation_gone', detail);
}

/** @throws `invalid_request` if a number is not the number of an action of the question. */
export function checkNumbers(numbers: readonly number[], count: number): void {
  const unknown = numbers.find((number) => number > count);
  if (unknown === undefined) return;
  const message = `must have only numbers from 1 to ${count}`;
  throw new AgentdError('invalid_request', 'The answer has a number that the question does not have.', {
    errors: [{ field: 'metadata.confirm.approve', message }],
  });
}
