import { AgentdError } from '../errors.ts';

/** A claim is gone while its message is being answered: another process took it over, or an administrator ended it. */
export class ClaimLost extends AgentdError {
  constructor() {
    super('unavailable', 'The message was taken away while it was answered.', { retryAfter: 5 });
    this.name = 'ClaimLost';
  }
}
