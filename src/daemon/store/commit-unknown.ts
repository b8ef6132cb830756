import { AgentdError, type StoreUnavailable } from '../errors.ts';

/** The store failed while a turn was committed: it is not known whether the turn is stored. */
export class CommitUnknown extends AgentdError {
  constructor(cause: StoreUnavailable) {
    super('unavailable', cause.message, { retryAfter: 5, cause });
    this.name = 'CommitUnknown';
  }
}
