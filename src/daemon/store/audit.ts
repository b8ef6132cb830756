import { randomBytes } from 'node:crypto';
import type { Kernel, Kind, Ring } from './kernels/kernel.ts';

/** The audit log: one line each time an administrator uses a command that agentd-audit(1) lists. */
export interface AuditStore {
  /** Adds a line; durable when it resolves. A line is kept for 400 days. */
  note(line: NewAuditLine): Promise<void>;
  /** The lines at `since` or later, newest first. */
  list(filter: { since?: number; limit: number }): Promise<AuditLine[]>;
  /**
   * The key of the HMAC that represents a person in the log. It is random, generated once, and the same for every
   * caller.
   */
  key(): Promise<Uint8Array>;
}

/** How long a line is kept, ms. */
export const AUDIT_RETENTION_MS = 400 * 24 * 60 * 60 * 1000;

interface NewAuditLine {
  /** The name of the system user. */
  user: string;
  /** The command, for example `sessions end`. */
  command: string;
  /**
   * The subject of the command, without personal data: the id of a message, or the shortened id of a session. Null if
   * there is none.
   */
  about: string | null;
  /** HMAC of the person that the command was about; null if there was none. */
  person: string | null;
}

export interface AuditLine extends NewAuditLine {
  at: number;
}

const KEY_BYTES = 32;

export const LINES: Ring<AuditLine> = {
  name: 'audit',
  max: 1_000_000,
  retention_ms: AUDIT_RETENTION_MS,
  ids: () => [],
};

/** The key of the log's HMAC, base64. */
const KEY: Kind<{ key: string }> = { name: 'audit_key', expires: () => null };

export function auditStore(kernel: Kernel): AuditStore {
  return {
    note: (line) => kernel.step((tx) => tx.log(LINES, { ...line, at: tx.now })),
    list: async ({ since = 0, limit }) =>
      (await kernel.findRecords(LINES, { isFound: ({ at }) => at >= since, limit })).reverse(),
    async key() {
      const made = randomBytes(KEY_BYTES).toString('base64');
      const key = await kernel.step((tx) => {
        const known = tx.get(KEY, '')?.key;
        if (known === undefined) tx.put(KEY, '', { key: made });
        return known ?? made;
      });
      return new Uint8Array(Buffer.from(key, 'base64'));
    },
  };
}
