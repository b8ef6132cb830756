import { AgentdError } from '../../errors.ts';

/** The error if a web client answers a question, but no action waits for an answer from this client. */
export function confirmationGone(): AgentdError {
  return new AgentdError('confirmation_gone', 'This action is not waiting for an answer from you.');
}
