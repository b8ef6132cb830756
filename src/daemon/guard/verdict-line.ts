import type { TraceLine } from '../trace/trace-record.ts';
import type { GuardVerdict } from './verdict.ts';

/** The line of a verdict in the trace: its reason, and the counters that show how near the limits were. */
export function verdictLine(verdict: GuardVerdict): Pick<TraceLine, 'reason' | 'detail'> {
  if (verdict.allowed) {
    const { messages, equal_texts, turns } = verdict;
    return { detail: { messages, equal_texts, turns } };
  }
  const { reason, max, blocked } = verdict;
  if (verdict.reason === 'turn_limit') return { reason, detail: { turns: verdict.turns, max, blocked } };
  return { reason, detail: { count: verdict.count, max, blocked, retry_after_ms: verdict.retry_after_ms } };
}
