import type { Kernel } from '../kernels/kernel.ts';
import type { SummaryStore } from '../summaries.ts';
import { claimSteps, claimTime, isValid } from './claim-state.ts';
import { findSession, putSession } from './session-document.ts';

export function summaryStore(kernel: Kernel): SummaryStore {
  const claiming = claimSteps(kernel);
  return {
    find: (session_tag, principal) =>
      kernel.step(
        (tx) => findSession(tx, session_tag)?.summaries.find((one) => one.principal === principal) ?? null,
      ),
    begin: (session_tag, ttl_ms) =>
      claiming((tx) => {
        const stored = findSession(tx, session_tag);
        if (stored === null || isValid(stored.summarizing, tx)) return null;
        const owner = tx.newOwner();
        putSession(tx, { ...stored, summarizing: { owner, expires_at: claimTime(tx) + ttl_ms } });
        return owner;
      }),
    keep: (session_tag, token, summary) =>
      kernel.step((tx) => {
        const stored = findSession(tx, session_tag);
        if (stored?.summarizing?.owner !== token || !isValid(stored.summarizing, tx)) return false;
        const others = stored.summaries.filter(({ principal }) => principal !== summary.principal);
        putSession(tx, { ...stored, summaries: [...others, summary], summarizing: null });
        return true;
      }),
  };
}
