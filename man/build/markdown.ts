/** Writes the Markdown of the pages that are made from records of the program. */

export interface PageText {
  name: string;
  section: '1' | '5' | '7';
  /** What follows the name in NAME, without a full stop. */
  summary: string;
  /** Sections in their order: title and Markdown. */
  sections: readonly { title: string; body: string }[];
}

const SETTING = /(?<!\w)(?:\*_)?[A-Z]+(?:_[A-Z]+)+(?:=\w+)?/g;
const PAGE = /\b(agentd(?:-[a-z]+)?)\((\d)\)/g;

/** The file of a page. */
export function pageText({ name, section, summary, sections }: PageText): string {
  return [
    '<!-- Written by `npm run man` from the records of the program; change those. -->\n',
    `# ${name}(${section}) - ${summary}`,
    ...sections.map(({ title, body }) => `## ${title}\n\n${body.trim()}`),
  ]
    .join('\n\n')
    .replace('\n\n\n', '\n\n')
    .concat('\n');
}

/** Plain sentences, with code in backticks. Settings become code, and names of pages become links. */
export function prose(plain: string): string {
  return plain
    .split(/(`[^`]+`)/)
    .map((part, index) => {
      if (index % 2 === 1) return part;
      return part
        .split(SETTING)
        .map((between) => escaped(between).replace(PAGE, (_match, page, section) => pageLink(page, section)))
        .reduce((joined, between, at) => `${joined}\`${part.match(SETTING)?.[at - 1]}\`${between}`);
    })
    .join('');
}

/** Escapes characters that Markdown would read as marks. */
function escaped(plain: string): string {
  return plain.replace(/[\\*<[]/g, '\\$&');
}

/** `term` is Markdown that begins with code or strong text. Further lines of the body are indented. */
export function terms(items: readonly { term: string; body: string }[]): string {
  return items.map(({ term, body }) => `- ${term}: ${body.replace(/\n(?=.)/g, '\n  ')}`).join('\n\n');
}

export function pageLink(name: string, section: string): string {
  return `[${name}(${section})](${name}.${section}.md)`;
}

/** In the usual order of manuals: by section, then by name. */
export function seeAlso(references: readonly (readonly [name: string, section: string])[]): string {
  return references
    .toSorted(([a, x], [b, y]) => x.localeCompare(y) || a.localeCompare(b))
    .map(([name, section]) => pageLink(name, section))
    .join(',\n');
}

/** Command lines to copy. */
export function shell(lines: string): string {
  return `\`\`\`sh\n${lines}\n\`\`\``;
}

/** The flags of an option as code: `-n, --lines <n>` as `-n`, `--lines` _n_. */
export function optionTerm(flags: string): string {
  return flags
    .split(', ')
    .map((flag) => {
      const [name, ...values] = flag.split(' ');
      return [`\`${name}\``, ...values.map((value) => `*${value.replace(/[<>[\]]/g, '')}*`)].join(' ');
    })
    .join(', ');
}
