export type Outcome = 'ok' | 'warning' | 'failed' | 'skipped';

/** What one check came to; a line of `agentd doctor`. */
export interface Finding {
  check: string;
  outcome: Outcome;
  /** What was found, or why it was not looked at. */
  detail: string;
  /** How to mend it, as a sentence; for what needs mending. */
  advice?: string;
}
