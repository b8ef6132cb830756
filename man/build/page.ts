/** Reads a manual page: Markdown whose first heading is `# name(section) - summary`. */
import MarkdownIt, { type Token } from 'markdown-it';

export interface Page {
  name: string;
  section: string;
  /** The text after the page's name in the section NAME, without a full stop. */
  summary: string;
  /** The blocks below the first heading. */
  tokens: readonly Token[];
}

export interface Heading {
  level: number;
  title: string;
  /** The fragment by which a forge links to it. */
  anchor: string;
}

const parser = new MarkdownIt({ html: true });

/** @throws if the page does not begin with the heading `# name(section) - summary`. */
export function readPage(markdown: string): Page {
  const tokens = parser.parse(markdown, {}).filter(({ type }) => type !== 'html_block');
  const [open, title] = tokens;
  const [, name, section, summary] = /^(\S+)\((\d)\) - (.+)$/.exec(title?.content ?? '') ?? [];
  if (open?.tag !== 'h1' || name === undefined || section === undefined || summary === undefined)
    throw new Error('the page does not begin with `# name(section) - summary`');
  return { name, section, summary, tokens: tokens.slice(3) };
}

/** The sections and subsections of a page, in order. */
export function findHeadings({ tokens }: Page): Heading[] {
  return tokens.flatMap((token, index) => {
    if (token.type !== 'heading_open') return [];
    const title = readTitle(tokens[index + 1]);
    return [{ level: Number(token.tag.slice(1)), title, anchor: toAnchor(title) }];
  });
}

/** The text of a heading, without marks. */
export function readTitle(inline: Token | undefined): string {
  return (inline?.children ?? []).map(({ content }) => content).join('');
}

/** The addresses of all links of a page. */
export function findLinks({ tokens }: Page): string[] {
  return tokens
    .flatMap(({ children }) => children ?? [])
    .flatMap((token) => (token.type === 'link_open' ? [String(token.attrGet('href'))] : []));
}

/** The fragment, as GitHub and other forges generate it. */
function toAnchor(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}
