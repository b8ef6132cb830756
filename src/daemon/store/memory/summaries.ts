import { randomSuffix } from '../../clock.ts';
import type { SummaryStore } from '../summaries.ts';
import type { Steps } from './as-port.ts';
import type { MemoryContext } from './context.ts';
import { findSession } from './sessions.ts';

export function summarySteps(context: MemoryContext): Steps<SummaryStore> {
  const { clock } = context;
  const find = (session_tag: string) => findSession(context, session_tag);
  return {
    find: (session_tag, principal) =>
      find(session_tag)?.summaries.find((one) => one.principal === principal) ?? null,
    begin(session_tag, ttl_ms) {
      const stored = find(session_tag);
      if (!stored || (stored.summarizing && stored.summarizing.expires_at > clock.now())) return null;
      const owner = randomSuffix();
      stored.summarizing = { owner, expires_at: clock.now() + ttl_ms };
      return owner;
    },
    keep(session_tag, token, summary) {
      const stored = find(session_tag);
      const lease = stored?.summarizing;
      if (!stored || lease?.owner !== token || lease.expires_at <= clock.now()) return false;
      stored.summarizing = null;
      const others = stored.summaries.filter(({ principal }) => principal !== summary.principal);
      stored.summaries = [...others, summary];
      return true;
    },
  };
}
