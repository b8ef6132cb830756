/** Summaries of what the history of a session has no room for, one for each principal of the session. */
export interface SummaryStore {
  /** Null if there is none, or if the session has ended. */
  find(session_tag: string, principal: string): Promise<Summary | null>;
  /**
   * Begins a summary, atomically: one is made at a time in a session. It is over when it is kept, or after `ttl_ms`.
   * @returns its token; null while another one is made, or if the session has ended.
   */
  begin(session_tag: string, ttl_ms: number): Promise<string | null>;
  /**
   * Stores the summary that was begun, in place of the one before. It is deleted with its session.
   * @returns false if it is over, or if the session has ended: nothing is stored.
   */
  keep(session_tag: string, token: string, summary: Summary): Promise<boolean>;
}

export interface Summary {
  /** The person or user that it belongs to: only their runs are given it. */
  principal: string;
  text: string;
  /** The last turn that it covers. */
  through_turn: string;
  /** When that turn ended, ms since the epoch. */
  through_at: number;
}
