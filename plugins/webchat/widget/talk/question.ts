import type { EventData, Outcome, Receipt } from '../../../../src/channel/event-stream.ts';

/** A question about actions that wait for the visitor, and what became of it. */
export interface Question {
  id: string;
  /** The whole question as text. */
  summary?: unknown;
  /** The actions as the service sent them. The card reads them. */
  actions: unknown;
  /** ms since the epoch */
  expires_at: number;
  /** Where the question begins in the text of the answer. Null if this is not known. */
  begins_at: number | null;
  /** The person for whom the actions would be done. */
  as: string | null;
  state: QuestionState;
  /** What the visitor has answered with the buttons. */
  approved?: Approval;
  /** What was done after the visitor's answer. */
  receipts?: readonly Receipt[] | undefined;
  /** When the question was settled, ms since the epoch. */
  at?: number;
}

/** What a visitor answers with the buttons: all actions, none, or those with these numbers. */
export type Approval = boolean | readonly number[];

/**
 * `sending`: the visitor has confirmed it. `refusing`: the visitor has declined it. `words`: the visitor has sent
 * another message. In these three states, the service has not answered yet.
 */
export type QuestionState =
  | 'open'
  | 'sending'
  | 'refusing'
  | 'words'
  | 'done'
  | 'failed'
  | 'declined'
  | 'expired'
  | 'unknown'
  | 'closed'
  | 'repeated';

/** The final states. An unknown outcome may still become known. */
export const SETTLED: readonly QuestionState[] = [
  'done',
  'failed',
  'declined',
  'expired',
  'closed',
  'repeated',
];

/** Reads the data of a question. @param name the name of the person whose token the message carried */
export function questionIn(data: EventData, name: string | null): Question {
  const { id, summary, expires_at, begins_at, actions, as } = data;
  return {
    id: String(id),
    summary,
    actions,
    state: 'open',
    expires_at: Date.parse(String(expires_at)) || Number.POSITIVE_INFINITY,
    begins_at: typeof begins_at === 'number' ? begins_at : null,
    // The service sends the e-mail address.
    as: !name || as === name ? ((as ?? name) as string | null) : as ? `${name} (${as})` : name,
  };
}

const OUTCOMES = ['unknown', 'failed', 'done'] as const;

/** The outcome of all writes together: `unknown` or `failed` if that is the outcome of any of them. */
export function combineOutcomes(receipts: readonly Receipt[] = []): Outcome | null {
  return OUTCOMES.find((wanted) => receipts.some(({ outcome }) => outcome === wanted)) ?? null;
}
