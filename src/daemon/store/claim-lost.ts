import { AgentdError } from '../errors.ts';

/** A claim that a message was answered under is gone: another process has taken it over, or an administrator ended it. */
export class ClaimLost extends AgentdError {
  constructor() {
    super('unavailable', 'The message was taken away while it was answered.', { retryAfter: 5 });
    this.name = 'ClaimLost';
  }
}
