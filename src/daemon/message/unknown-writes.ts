import { escapeMarkdown } from '../confirmation/escape-markdown.ts';
import type { TurnJournal } from '../journal/turn-journal.ts';
import type { LocalTexts } from '../texts/texts.ts';

/**
 * The sentences of the daemon for writes of which nobody knows whether they were carried out: a model might leave that
 * out. One line each, in CommonMark; empty if there are none.
 * @param reported id of an action of which the reply says it already
 */
export function unknownWrites(
  { unknown }: Pick<TurnJournal, 'unknown'>,
  texts: LocalTexts,
  reported: string | null = null,
): string {
  return unknown
    .filter(({ action_id }) => action_id !== reported)
    .map(({ summary }) => texts.say('write_unknown', { action: escapeMarkdown(summary) }))
    .join('\n\n');
}
