import { AgentdError } from '../errors.ts';

/** The answer to a web client that names an action which does not wait for it. */
export function confirmationGone(): AgentdError {
  return new AgentdError('confirmation_gone', 'This action does not wait for an answer of yours.');
}
