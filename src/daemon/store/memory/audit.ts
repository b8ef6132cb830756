import { randomBytes } from 'node:crypto';
import type { AuditStore } from '../audit.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';

const KEY_BYTES = 32;

export function auditSteps({ state, clock }: MemoryContext): Steps<AuditStore> {
  return {
    note: (line) => void state.audit.push({ ...line, at: clock.now() }),
    list: ({ since = 0, limit }) =>
      state.audit
        .filter(({ at }) => at >= since)
        .reverse()
        .slice(0, limit),
    key() {
      if (state.audit_key.length === 0) state.audit_key.push(randomBytes(KEY_BYTES));
      return state.audit_key[0] as Uint8Array;
    },
  };
}
