/**
 * Writes a manual page as mdoc(7), the language of man(1). It supports the part of Markdown that the pages use, and
 * throws for anything else. If each item of a list begins with `term: `, and each term starts with code or strong text,
 * the list becomes a list of terms.
 */
import type { Token } from 'markdown-it';
import { type Page, readTitle } from './page.ts';
import { code, literal, quoted, text } from './roff.ts';

/** Date of the pages. It is changed only with a release, so that building the pages again changes nothing. */
const DATE = 'November 22, 2026';

/** The address of another page. */
const PAGE_LINK = /^(?:\.\/)?([a-z-]+)\.(\d)\.md(?:#\S+)?$/;

export function writeMdoc({ name, section, summary, tokens }: Page): string {
  return [
    '.\\" Made from Markdown; see man/build/mdoc-pages.ts in the sources.',
    `.Dd ${DATE}`,
    `.Dt ${name.toUpperCase()} ${section}`,
    '.Os',
    '.Sh NAME',
    `.Nm ${name}`,
    `.Nd ${text(summary)}`,
    ...new BlockWriter(tokens).blocks(),
    '',
  ].join('\n');
}

class BlockWriter {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** The lines of all blocks up to the end of the block around them. */
  blocks(): string[] {
    const lines: string[] = [];
    // A paragraph is separated from the previous block, but not from a heading or the beginning of an item.
    let follows = false;
    for (let open = this.#next(); open !== undefined && open.nesting !== -1; open = this.#next()) {
      if (open.type === 'paragraph_open') {
        if (follows) lines.push('.Pp');
        lines.push(...writeInline(this.#inline()));
      } else lines.push(...this.#block(open));
      follows = open.type !== 'heading_open';
    }
    return lines;
  }

  #next(): Token | undefined {
    return this.#tokens[this.#at++];
  }

  /** The marks and text of a block that contains no other blocks. */
  #inline(): readonly Token[] {
    const children = this.#next()?.children ?? [];
    this.#at++;
    return children;
  }

  #block(open: Token): string[] {
    switch (open.type) {
      case 'heading_open':
        return [this.#heading(open.tag)];
      case 'bullet_list_open':
        return this.#list('-bullet');
      case 'ordered_list_open':
        return this.#list('-enum');
      case 'fence':
        return ['.Bd -literal -offset indent', literal(open.content), '.Ed'];
      default:
        throw new TypeError(`mdoc has no form for this Markdown: ${open.type}`);
    }
  }

  #heading(tag: string): string {
    const title = readTitle(this.#next());
    this.#at++;
    if (tag === 'h2') return `.Sh ${quoted(title.toUpperCase())}`;
    if (tag === 'h3') return `.Ss ${quoted(title)}`;
    throw new TypeError(`a manual page has no headings of the level ${tag}: ${title}`);
  }

  #list(kind: '-bullet' | '-enum'): string[] {
    const items: { first: readonly Token[]; rest: string[]; tight: boolean }[] = [];
    for (let open = this.#next(); open?.type === 'list_item_open'; open = this.#next()) {
      const paragraph = this.#next();
      if (paragraph?.type !== 'paragraph_open')
        throw new TypeError('an item of a list begins with a paragraph');
      const first = this.#inline();
      const isFollowedByParagraph = this.#tokens[this.#at]?.type === 'paragraph_open';
      const rest = [...(isFollowedByParagraph ? ['.Pp'] : []), ...this.blocks()];
      items.push({ first, rest, tight: paragraph.hidden });
    }
    const terms = kind === '-bullet' ? items.map(({ first }) => splitTerm(first)) : [];
    if (terms.length > 0 && terms.every((term) => term !== null))
      return [
        '.Bl -tag -width Ds',
        ...terms.flatMap(({ term, body }, index) => [
          `.It ${quoted(term, true)}`,
          ...writeInline(body),
          ...(items[index]?.rest ?? []),
        ]),
        '.El',
      ];
    const compact = items.every(({ tight }) => tight) ? ' -compact' : '';
    return [
      `.Bl ${kind}${compact}`,
      ...items.flatMap(({ first, rest }) => ['.It', ...writeInline(first), ...rest]),
      '.El',
    ];
  }
}

/** The term that an item defines, as roff, and the definition. Null if it does not define a term. */
function splitTerm(tokens: readonly Token[]): { term: string; body: Token[] } | null {
  const begin = tokens.find(({ type, content }) => type !== 'text' || content !== '');
  if (begin?.type !== 'code_inline' && begin?.type !== 'strong_open') return null;
  const at = tokens.findIndex(({ type, content }) => type === 'text' && /:(?:\s|$)/.test(content));
  const colon = tokens[at];
  if (colon === undefined) return null;
  const [before = '', ...after] = colon.content.split(/:(?:\s|$)/);
  const behind = colon.content.slice(before.length + 1).trimStart();
  if (after.length === 0) return null;
  const term = flat([...tokens.slice(0, at), withContent(colon, before)]).replaceAll(BLANK, ' ');
  const rest = tokens.slice(at + 1);
  if (behind === '' && rest[0]?.type === 'softbreak') rest.shift();
  return { term, body: [withContent(colon, behind), ...rest] };
}

function withContent(token: Token, content: string): Token {
  return Object.assign(Object.create(Object.getPrototypeOf(token)), token, { content });
}

/**
 * Placeholders: `BLANK` for a space inside code, where no line may be broken, and `MACRO` for a macro, by its number.
 */
const BLANK = '\u{E000}';
const MACRO = /\u{E001}(\d+)\u{E002}/u;

/** Lines of roff, one sentence each. Links are macros on separate lines. */
function writeInline(tokens: readonly Token[]): string[] {
  const macros: string[] = [];
  const joined = flat(tokens, (macro) => `\u{E001}${macros.push(macro) - 1}\u{E002}`);
  const lines = joined
    .split(/\s+/)
    .join(' ')
    .trim()
    .replace(/([.!?](?:[)”"]|\\fR)*) (?=["“(]*(?:\p{Lu}|\\|\u{E001}))/gu, '$1\n')
    .split('\n')
    .flatMap((sentence) => writeSentence(sentence, macros));
  return lines.filter((line) => line !== '').map((line) => line.replaceAll(BLANK, ' '));
}

/** The lines of one sentence. Each macro is on a separate line, together with the text that touches it. */
function writeSentence(sentence: string, macros: readonly string[]): string[] {
  const lines: string[] = [];
  let words: string[] = [];
  const endText = () => {
    // A line that begins with a dot or an apostrophe would be a request.
    lines.push(words.join(' ').replace(/^(?=[.'])/, '\\&'));
    words = [];
  };
  for (const word of sentence.split(' ')) {
    const found = MACRO.exec(word);
    if (found === null) words.push(word);
    else {
      endText();
      const before = word.slice(0, found.index);
      const after = word.slice(found.index + found[0].length);
      if (MACRO.test(after)) throw new TypeError(`two links touch each other: ${sentence}`);
      lines.push(
        [
          // mdoc does not treat escaped text as punctuation.
          before === '' ? '.' : `.No ${quoted(`\\&${before}`, true)} Ns `,
          macros[Number(found[1])],
          /^[.,;:?!)]*$/.test(after)
            ? [...after].map((mark) => ` ${mark}`).join('')
            : ` Ns No ${quoted(`\\&${after}`, true)}`,
        ].join(''),
      );
    }
  }
  endText();
  return lines;
}

/** Writes marks as changes of the font. Each link is passed to `link` as a macro; without `link`, its text is used. */
function flat(tokens: readonly Token[], link?: (macro: string) => string): string {
  let result = '';
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as Token;
    if (token.type === 'link_open') {
      const end = tokens.findIndex(({ type }, index) => index > at && type === 'link_close');
      const label = tokens.slice(at + 1, end);
      result += link ? writeLink(String(token.attrGet('href')), label, link) : flat(label);
      at = end;
    } else result += mark(token);
  }
  return result;
}

function mark(token: Token): string {
  switch (token.type) {
    case 'text':
    case 'text_special':
      return text(token.content);
    case 'softbreak':
      return ' ';
    case 'code_inline':
      // Code that may be copied is not hyphenated.
      return `\\fB\\%${code(token.content).replaceAll(' ', `${BLANK}\\%`)}\\fR`;
    case 'strong_open':
      return '\\fB';
    case 'em_open':
      return '\\fI';
    case 'strong_close':
    case 'em_close':
      return '\\fR';
    default:
      throw new TypeError(`mdoc has no form for this Markdown: ${token.type}`);
  }
}

function writeLink(href: string, label: readonly Token[], link: (macro: string) => string): string {
  const words = readTitle({ children: label } as unknown as Token);
  const [, page, section] = PAGE_LINK.exec(href) ?? [];
  if (page !== undefined) {
    const name = `${page}(${section})`;
    if (!words.startsWith(name)) throw new TypeError(`a link to ${href} has to begin with ${name}: ${words}`);
    return link(`Xr ${page} ${section}`) + text(words.slice(name.length));
  }
  if (href.startsWith('#')) return link(`Sx ${quoted(words)}`);
  if (/^https?:/.test(href)) return link(`Lk ${href} ${quoted(words)}`);
  // A file of the repository.
  return `\\fI${code(words)}\\fR`;
}
