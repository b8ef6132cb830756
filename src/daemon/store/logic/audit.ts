import { randomBytes } from 'node:crypto';
import { AUDIT_RETENTION_MS, type AuditLine, type AuditStore } from '../audit.ts';
import type { Kernel, Kind, Ring } from '../kernels/kernel.ts';

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
      (await kernel.found(LINES, { isFound: ({ at }) => at >= since, limit })).reverse(),
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
