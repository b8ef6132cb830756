/** A write that was made for the sender of a message. */
export interface OwnAction {
  /** ISO 8601. */
  time: string;
  /** One line of plain text. */
  summary: string;
  outcome: 'running' | 'done' | 'failed' | 'unknown';
}

/** The journal of actions as the sender of a message may read it: their own writes. */
export interface OwnJournal {
  /** Newest first. Rejects with `StoreUnavailable` if the journal cannot be read. */
  list(): Promise<OwnAction[]>;
}
