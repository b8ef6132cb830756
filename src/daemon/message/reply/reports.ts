import type { LocalTexts } from '../../texts/texts.ts';
import type { ServerPage } from '../../tools/answer.ts';
import { visible } from '../../tools/confirmation/plain-value.ts';
import { escapeMarkdown } from '../../tools/confirmation/question.ts';
import type { TurnJournal } from '../../tools/journal/turn-journal.ts';
import type { Services } from '../services.ts';
import type { Settled } from '../turn.ts';
import type { CarriedOut } from './carry-out.ts';

/** Reports the outcome of a confirmed action in the daemon's own words, because the agent could not. */
export async function reportAction(
  { action_id, told: { summary } }: CarriedOut,
  { texts }: Settled,
  { store }: Services,
): Promise<string> {
  const { state } = (await store.actions.find(action_id)) ?? {};
  return texts.say(outcomeText(state), { action: escapeMarkdown(summary) });
}

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

/** Maximum number of pages in one reply. The agent can ask for the others again. */
const MAX_PAGES = 3;

/** The pages that servers ask the person to open, as the reply shows them. */
export class PageList {
  readonly #pages = new Map<string, ServerPage>();

  add(page: ServerPage): void {
    if (this.#pages.size < MAX_PAGES) this.#pages.set(page.url, page);
  }

  /** A paragraph for each page, in CommonMark; empty if there is none. Hosts are in ASCII form. */
  inWords(texts: LocalTexts): string {
    return [...this.#pages.values()]
      .map(({ source, url }) => {
        const { host, href } = new URL(url);
        const service = escapeMarkdown(visible(source));
        return texts.say('open_page', { service, host: escapeMarkdown(host), url: `<${href}>` });
      })
      .join('\n\n');
  }
}
