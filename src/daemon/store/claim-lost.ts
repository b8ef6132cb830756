import { AgentdError } from '../errors.ts';

/**
 * The claim of a message that is being answered is gone: another process took it over, or an administrator ended it.
 */
export class ClaimLost extends AgentdError {
  constructor() {
    super('unavailable', 'Another process has taken over this message, or an administrator ended it.', {
      retryAfter: 5,
    });
    this.name = 'ClaimLost';
  }
}
