import { AgentdError } from '../errors.ts';

/**
 * The claim of a message that is being answered is gone: another process took it over, or an administrator ended it.
 */
export class ClaimLost extends AgentdError {
  constructor() {
    super('unavailable', 'The message was taken away while it was answered.', { retryAfter: 5 });
    this.name = 'ClaimLost';
  }
}
