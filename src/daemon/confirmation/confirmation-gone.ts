import { AgentdError } from '../errors.ts';

/** The error for a web client that answers a question about an action that is not waiting for that client's answer. */
export function confirmationGone(): AgentdError {
  return new AgentdError('confirmation_gone', 'This action is not waiting for an answer from you.');
}
