import { escapeMarkdown } from '../confirmation/escape-markdown.ts';
import type { TurnJournal } from '../journal/turn-journal.ts';
import type { LocalTexts } from '../texts/texts.ts';

/**
 * The sentences of the daemon for writes of which nobody knows whether they were carried out: a model might leave that
 * out. One line each, in CommonMark; empty if there are none.
 * @param said ids of actions of which the reply says so already
 */
export function unknownWrites(
  { unknown }: Pick<TurnJournal, 'unknown'>,
  texts: LocalTexts,
  said: readonly string[] = [],
): string {
  return unknown
    .filter(({ action_id }) => !said.includes(action_id))
    .map(({ summary }) => texts.say('write_unknown', { action: escapeMarkdown(summary) }))
    .join('\n\n');
}
