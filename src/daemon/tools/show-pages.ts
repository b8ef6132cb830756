import type { CallOutcome } from './call-outcome.ts';
import type { Need, ToolSourceInfo } from './tool.ts';
import type { ToolRun } from './tool-run.ts';

/** A page that a server asks a person to open. The daemon shows it at the end of the reply, in its own words. */
export interface ServerPage {
  /** `name` of the entry of the server. */
  readonly source: string;
  readonly url: string;
}

/** What a server needs, in words for the agent. */
export function needsInWords(needs: readonly Need[]): string {
  const words = needs
    .map(({ message }) => message.replace(/[.\s]+$/, ''))
    .filter((message) => message !== '');
  return words.length === 0 ? 'something else first' : words.join('; ');
}

/**
 * The pages that may be shown. What a person does on a page counts for whom the server takes the person to be. A server
 * that does not get the person's credential would take all people for one.
 */
export function pagesOf(
  { name: source }: ToolSourceInfo,
  needs: readonly Need[],
  { isPersonal, mask }: { isPersonal: boolean; mask: (text: string) => string },
): ServerPage[] {
  if (!isPersonal) return [];
  // A page whose address contains a token of the request is not shown.
  return needs.flatMap(({ url }) => (url !== null && mask(url) === url ? [{ source, url }] : []));
}

/** Shows the pages of a call to the person, unless other people would see them, and tells the agent so. */
export function showPages(outcome: CallOutcome, { audience, showPage }: ToolRun): CallOutcome {
  const { pages = [], answer } = outcome;
  if (pages.length === 0) return outcome;
  const isShown = showPage !== null && !audience.shared;
  if (isShown) for (const page of pages) showPage(page);
  const words = isShown
    ? 'The person must open a page. Its address is at the end of your reply: do not write it yourself. Tell the person to ask again afterward.'
    : 'The person must open a page, whose address cannot be shown here. Tell the person to ask again in a private conversation.';
  return {
    ...outcome,
    answer: answer.ok
      ? { ok: true, result: { result: answer.result, note: words } }
      : { ok: false, message: `${answer.message} ${words}` },
  };
}
