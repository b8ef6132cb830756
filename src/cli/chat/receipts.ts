import type { EventData } from '../../channel/event-stream.ts';

/** What the writes of an answer did. */
export interface Receipts {
  actions: readonly Receipt[];
  /** Where the lines about them begin in the text of the answer; null if it has no such lines. */
  begins_at: number | null;
}

interface Receipt {
  /** Name of the tool. */
  tool: string;
  summary: string;
  outcome: 'done' | 'failed' | 'unknown';
  /** Status of the HTTP answer; null if there is none. */
  status: number | null;
}

/** Reads the data of the event `actions`. A later version of the daemon may send something else. */
export function receiptsIn({ actions, begins_at }: EventData): Receipts {
  const listed = Array.isArray(actions) ? (actions as (Partial<Receipt> | null)[]) : [];
  return {
    actions: listed.map((action) => {
      const { tool, summary, outcome, status } = action ?? {};
      return {
        tool: String(tool ?? ''),
        summary: String(summary ?? ''),
        outcome: outcome === 'done' || outcome === 'failed' ? outcome : 'unknown',
        status: typeof status === 'number' ? status : null,
      };
    }),
    begins_at: typeof begins_at === 'number' ? begins_at : null,
  };
}

export function receiptInWords({ summary, outcome, status }: Receipt): string {
  if (outcome === 'unknown') return `${summary} – it is not known whether this happened`;
  return `${summary} – ${outcome}${outcome === 'failed' && status !== null ? ` (status ${status})` : ''}`;
}
