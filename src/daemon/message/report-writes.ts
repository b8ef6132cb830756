import type { LocalTexts } from '../texts/texts.ts';
import { escapeMarkdown } from '../tools/confirmation/question.ts';
import type { TurnJournal } from '../tools/journal/turn-journal.ts';

/** Which writes of a turn the daemon itself reports. */
interface Reported {
  /**
   * True: all writes are reported, because the agent could not report them. False: only writes whose outcome is
   * unknown.
   */
  untold: boolean;
  /** Id of an action whose outcome is already in the reply. */
  reported: string | null;
}

/**
 * The daemon's own sentences about the writes of a turn. They are needed because a model might not mention that an
 * outcome is unknown, and a model that has used all its steps says nothing. One paragraph for each write, in
 * CommonMark; empty if there is nothing to report.
 */
export function reportWrites(
  { written, unknown }: Pick<TurnJournal, 'written' | 'unknown'>,
  texts: LocalTexts,
  { untold, reported }: Reported,
): string {
  return (untold ? written : unknown)
    .filter(({ action_id }) => action_id !== reported)
    .map(({ summary, state }) => texts.say(outcomeText(state), { action: escapeMarkdown(summary) }))
    .join('\n\n');
}

/** The name of the text that reports the outcome of an action. */
export function outcomeText(state: string | undefined): 'confirm_done' | 'confirm_failed' | 'write_unknown' {
  if (state === 'done') return 'confirm_done';
  return state === 'failed' ? 'confirm_failed' : 'write_unknown';
}
