import type { EventData } from '../../../../src/channel/event-stream.ts';

/** A question about actions that wait for the visitor, and what became of it. */
export interface Question {
  id: string;
  actions: AskedAction[];
  /** ms since the epoch */
  expires_at: number;
  /** Where the question begins in the text of the answer. Null if this is not known. */
  begins_at: number | null;
  /** The person for whom the actions would be done. */
  as: string | null;
  state: QuestionState;
  /** When the question was settled, ms since the epoch. */
  at?: number;
}

export interface AskedAction {
  title: string;
  details: readonly { label: string; value: string }[];
  /** The verb for the button. */
  confirm_label?: string | undefined;
}

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

/** Reads the data of a question. If the service sends only its text, the actions are read from the text. */
export function questionIn(data: EventData, as: string | null): Question {
  const { id, summary, expires_at, begins_at, actions } = data;
  const listed = Array.isArray(actions) ? actions.map(actionIn) : [];
  return {
    id: String(id),
    actions: listed.length > 0 ? listed : [actionInText(String(summary ?? ''))],
    expires_at: Date.parse(String(expires_at)) || Number.POSITIVE_INFINITY,
    begins_at: typeof begins_at === 'number' ? begins_at : null,
    as: typeof data.as === 'string' ? data.as : as,
    state: 'open',
  };
}

function actionIn(value: unknown): AskedAction {
  const { title, details, confirm_label } = (value ?? {}) as Partial<AskedAction>;
  return {
    title: String(title ?? ''),
    details: Array.isArray(details)
      ? details.map(({ label, value: shown }) => ({ label: String(label), value: String(shown) }))
      : [],
    confirm_label: typeof confirm_label === 'string' ? confirm_label : undefined,
  };
}

/** The first line is the action. Each further line is `name: "value"`. */
function actionInText(text: string): AskedAction {
  const [title = '', ...lines] = text.split('\n');
  const details = lines.map((line) => {
    const [, label = '', value = line] = /^([^:"]+): (.*)$/.exec(line) ?? [];
    return { label, value };
  });
  return { title, details };
}

/**
 * What became of confirmed actions, by the data of the event `actions`. If one of several failed or is unknown, the
 * whole list is.
 */
export function outcomeIn(data: EventData | null): 'done' | 'failed' | 'unknown' | null {
  const list = Array.isArray(data?.actions) ? data.actions : [];
  const outcomes = list.map((one: { outcome?: unknown }) => String(one?.outcome));
  for (const outcome of ['unknown', 'failed', 'done'] as const)
    if (outcomes.includes(outcome)) return outcome;
  return null;
}
