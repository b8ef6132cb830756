import type { ActionStore } from '../../store/actions.ts';
import type { LocalTexts } from '../../texts/texts.ts';
import { visible } from '../../tools/confirmation/plain-value.ts';
import { escapeMarkdown } from '../../tools/confirmation/question.ts';
import type { TurnJournal } from '../../tools/journal/turn-journal.ts';
import type { Run } from '../run/run.ts';
import type { CarriedOut } from './carry-out.ts';
import type { LeftOut } from './carry-out-all.ts';

/**
 * The daemon's own sentences about the writes of a turn. They are needed because a model might not mention that an
 * outcome is unknown, and a model that has used all its steps says nothing. Each write is a paragraph in CommonMark.
 */
export class WriteReports {
  readonly #journal: Pick<TurnJournal, 'written' | 'unknown'>;
  readonly #texts: LocalTexts;
  #isAll = false;
  /** The actions whose outcome is already in the reply. */
  readonly #reported = new Set<string>();

  constructor(journal: Pick<TurnJournal, 'written' | 'unknown'>, texts: LocalTexts) {
    this.#journal = journal;
    this.#texts = texts;
  }

  /** Whether all writes are reported, and not only those whose outcome is unknown. */
  get isAll(): boolean {
    return this.#isAll;
  }

  /** Called if the agent cannot report the writes. */
  reportAll(): void {
    this.#isAll = true;
  }

  /** Reports the outcome of a confirmed action, because the agent could not. */
  async ofAction({ action_id, told }: CarriedOut, actions: Pick<ActionStore, 'find'>): Promise<string> {
    const found = await actions.find(action_id);
    this.#reported.add(action_id);
    return this.#inWords(told.summary, found?.state);
  }

  /** The writes that are not reported yet; empty if there is nothing to report. */
  others(): string {
    const { written, unknown } = this.#journal;
    return (this.#isAll ? written : unknown)
      .filter(({ action_id }) => !this.#reported.has(action_id))
      .map(({ summary, state }) => this.#inWords(summary, state))
      .join('\n\n');
  }

  #inWords(summary: string, state: string | undefined): string {
    const text = state === 'done' ? 'confirm_done' : state === 'failed' ? 'confirm_failed' : 'write_unknown';
    return this.#texts.say(text, { action: escapeMarkdown(summary) });
  }
}

/** A paragraph for each confirmed action that was not carried out; empty if there is none. */
export function leftOutInWords(left_out: readonly LeftOut[], texts: LocalTexts): string {
  return left_out
    .map(({ summary, cause }) => {
      const text = cause === 'sign_in' ? 'confirm_rest_sign_in' : 'confirm_rest_not_done';
      return texts.say(text, { action: escapeMarkdown(summary) });
    })
    .join('\n\n');
}

/** A paragraph for each page that a server asks the person to open; empty if there is none. Hosts are in ASCII form. */
export function pagesInWords({ pages }: Pick<Run, 'pages'>, texts: LocalTexts): string {
  return [...pages.values()]
    .map(({ source, url }) => {
      const { host, href } = new URL(url);
      const service = escapeMarkdown(visible(source));
      return texts.say('open_page', { service, host: escapeMarkdown(host), url: `<${href}>` });
    })
    .join('\n\n');
}
