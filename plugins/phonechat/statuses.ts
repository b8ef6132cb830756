import { codeOf, type Fields, objectsOf, stringOf } from './json.ts';

/** The status of a message that was sent (Cloud API, "Status messages webhook reference"). */
export interface Status {
  status: StatusWord;
  message_id: string | undefined;
  /** Why the message failed, if it did. */
  error?: { code: number; title: string };
}

const WORDS = ['sent', 'delivered', 'read', 'played', 'failed', 'other'] as const;
export type StatusWord = (typeof WORDS)[number];

export type StatusCounts = Partial<Record<StatusWord, number>>;

export function readStatuses(value: unknown): Status[] {
  return objectsOf(value).map(({ status, id, errors }) => {
    const word = WORDS.find((known) => known === status) ?? 'other';
    const [error] = objectsOf(errors);
    return {
      status: word,
      message_id: stringOf(id)?.slice(0, 500).toWellFormed(),
      ...(word === 'failed' && error ? { error: errorOf(error) } : {}),
    };
  });
}

/** Counts the statuses of each kind. */
export function countStatuses(statuses: readonly Status[]): StatusCounts {
  const counts: StatusCounts = {};
  for (const { status } of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function errorOf({ code, title, message }: Fields): { code: number; title: string } {
  const words = stringOf(title) ?? stringOf(message) ?? '';
  return { code: codeOf(code), title: words.slice(0, 200).toWellFormed() };
}
