/** The markup of a platform, and how the platform counts text. */
export interface Dialect {
  /** Longest message, in UTF-16 units of its text. */
  readonly limit: number;
  /**
   * Whether marks and escapes count toward `limit`. False if the platform reads the markup first, and then counts only
   * the remaining text.
   */
  readonly marksCount: boolean;
  /** Maximum number of marks with an `open` that the platform reads in one message. If absent, there is no limit. */
  readonly markLimit?: number;
  /** Maximum total length of the marks in one message, in UTF-16 units. If absent, only `limit` applies. */
  readonly markupLimit?: number;
  /** How to escape single ASCII characters. */
  readonly escapes: Readonly<Record<string, string>>;
  /**
   * For platforms without an escape: characters that are markup in pairs (`*`), each with a similar character that
   * replaces it if there are two.
   */
  readonly lookalikes: Readonly<Record<string, string>>;
  /** Words that would be markup at the beginning of a line. An invisible character is written before them. */
  readonly lineStart?: RegExp;
  readonly strong: Mark;
  readonly emphasis: Mark;
  readonly delete: Mark;
  readonly code: Mark;
  /** @param language language of the code block, only letters, digits and `+#._-`; null if there is none */
  codeBlock(language: string | null): Mark;
  readonly quote: Mark;
  /**
   * @param url http, https, mailto or tel, without white space, quotes, angle brackets and vertical bars
   * @returns null if the platform has no links; the address is then written after the label
   */
  link(url: string): Mark | null;
  /** Bullets of lists, outermost first. Deeper lists use the last one. */
  readonly bullets: readonly string[];
  /** `aligned`: columns in a code block. `lines`: one line for each row. */
  readonly tables: 'aligned' | 'lines';
}

/** Markup around text: bold, a link, a quotation, a list item. */
export interface Mark {
  /** Written at the beginning, and again in the next message if the text is cut. */
  readonly open?: string;
  readonly close?: string;
  /** Written at the beginning of every line, instead of `open`. */
  readonly prefix?: string;
  /** The mark must begin and end on the same line. */
  readonly inLine?: boolean;
  /**
   * The platform ignores the mark inside a word. If the mark would be inside a word, an invisible character is written
   * between the mark and the letter.
   */
  readonly tight?: boolean;
  /** The platform recognizes no other mark inside this mark. */
  readonly plain?: boolean;
}

/**
 * Plain text, for platforms without markup: words without marks, lists with hyphens, code and tables as lines, links
 * as label and address. For a platform with a limit: `{ ...PLAIN, limit: 160 }`.
 */
export const PLAIN: Dialect = {
  limit: Number.MAX_SAFE_INTEGER,
  marksCount: true,
  escapes: {},
  lookalikes: {},
  strong: {},
  emphasis: {},
  delete: {},
  code: {},
  codeBlock: () => ({}),
  quote: { prefix: '> ' },
  link: () => null,
  bullets: ['-'],
  tables: 'lines',
};
