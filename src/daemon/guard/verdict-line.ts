import type { TraceLine } from '../trace/trace-record.ts';
import type { GuardVerdict } from './verdict.ts';

/** What a verdict leaves in the trace: why, and the counters that say how near to a bound it was. */
export function verdictLine(verdict: GuardVerdict): Pick<TraceLine, 'reason' | 'detail'> {
  if (verdict.allowed) {
    const { messages, equal_texts, turns } = verdict;
    return { detail: { messages, equal_texts, turns } };
  }
  const { reason, max, blocked } = verdict;
  if (verdict.reason === 'turn_limit') return { reason, detail: { turns: verdict.turns, max, blocked } };
  return { reason, detail: { count: verdict.count, max, blocked, retry_after_ms: verdict.retry_after_ms } };
}
