import { AgentdError } from '../errors.ts';

/** The error for a web client that names an action that is not waiting for its answer. */
export function confirmationGone(): AgentdError {
  return new AgentdError('confirmation_gone', 'This action is not waiting for an answer from you.');
}
