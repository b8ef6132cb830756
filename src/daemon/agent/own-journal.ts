/** A write that was made for the sender of a message. */
export interface OwnAction {
  /** ISO 8601. */
  time: string;
  /** One line of plain text. */
  summary: string;
  outcome: 'running' | 'done' | 'failed' | 'unknown';
  /** The system user of the operator who made the write with `agentd tools call`. Absent: the agent made it. */
  made_by_operator?: string;
}

/** The part of the journal of actions that the sender of a message may read: the writes made for them. */
export interface OwnJournal {
  /** Newest first. Rejects with `StoreUnavailable` if the journal cannot be read. */
  list(): Promise<OwnAction[]>;
}
