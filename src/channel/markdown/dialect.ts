/** How a platform writes and counts text: all that `renderMarkdown` has to know of it. */
export interface Dialect {
  /** Longest message, in UTF-16 units of its text. */
  readonly limit: number;
  /** Do marks and escapes count towards `limit`? False where the platform counts after it has read them. */
  readonly marksCount: boolean;
  /** How many marks with an `open` the platform reads in one message. Absent: no limit. */
  readonly markLimit?: number;
  /** How many UTF-16 units of them. Absent: no limit but `limit`. */
  readonly markupLimit?: number;
  /** How single ASCII characters are written so that they are no markup. */
  readonly escapes: Readonly<Record<string, string>>;
  /**
   * For platforms without an escape: characters that are markup in pairs (`*`), each with one that looks alike.
   * It stands in where two of them would pair.
   */
  readonly lookalikes: Readonly<Record<string, string>>;
  /** Words that would be markup at the beginning of a line; an invisible character is put before them. */
  readonly lineStart?: RegExp;
  readonly strong: Mark;
  readonly emphasis: Mark;
  readonly delete: Mark;
  readonly code: Mark;
  /** @param language of the fence, letters, digits and `+#._-` only; null: none was named */
  codeBlock(language: string | null): Mark;
  readonly quote: Mark;
  /**
   * @param url http, https, mailto or tel, without white space, quotes, angle brackets and vertical bars
   * @returns null where the platform has no links: the address stands behind the label
   */
  link(url: string): Mark | null;
  /** Bullets of lists, the outermost first; the last one serves all that are deeper. */
  readonly bullets: readonly string[];
  /** `aligned`: columns in a code block. `lines`: a row is a line. */
  readonly tables: 'aligned' | 'lines';
}

/** Something that text stands in: bold, a link, a quotation, an item of a list. */
export interface Mark {
  /** Written where it begins; it is written again where a message was cut inside of it. */
  readonly open?: string;
  readonly close?: string;
  /** Written at the beginning of every line instead. */
  readonly prefix?: string;
  /** Begins and ends within one line. */
  readonly inLine?: boolean;
  /** Is understood between words only: where it touches a letter, an invisible character parts them. */
  readonly tight?: boolean;
  /** No other mark is understood inside of it. */
  readonly plain?: boolean;
}
