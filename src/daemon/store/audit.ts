/** What administrators did (agentd-audit(1)): one line for each command that changes something or shows a person's data. */
export interface AuditStore {
  /** Adds a line; durable when it resolves. A line is kept for 400 days. */
  note(line: NewAuditLine): Promise<void>;
  /** Newest first. */
  list(filter: { since?: number; limit: number }): Promise<AuditLine[]>;
  /** The key of the HMAC that stands for a person in the log: random, made once, the same for each caller. */
  key(): Promise<Uint8Array>;
}

/** How long a line is kept. */
export const AUDIT_RETENTION_MS = 400 * 24 * 60 * 60 * 1000;

export interface NewAuditLine {
  /** The name of the system's user. */
  user: string;
  /** The command, `sessions end`. */
  command: string;
  /** What it was about, without a person's data: the id of a message, the shortened id of a session. Null: nothing. */
  about: string | null;
  /** HMAC of the person that it was about; null: nobody. */
  person: string | null;
}

export interface AuditLine extends NewAuditLine {
  at: number;
}
