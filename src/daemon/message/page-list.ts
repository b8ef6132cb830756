import type { LocalTexts } from '../texts/texts.ts';
import type { ServerPage } from '../tools/answer.ts';
import { visible } from '../tools/confirmation/plain-value.ts';
import { escapeMarkdown } from '../tools/confirmation/question.ts';

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
