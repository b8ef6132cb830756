/**
 * How an agent says in one language that it has changed something. All patterns are matched against one clause, in which
 * quoted text is left out. They are not anchored, unless they say so.
 */
export interface ClaimPatterns {
  /** The agent says that it did something: "I have cancelled your order". */
  readonly own: readonly RegExp[];
  /** The same in a subordinate clause. Matched against the whole sentence. */
  readonly announced?: readonly RegExp[];
  /** Something was done, and nobody is named: "Your order has been cancelled". */
  readonly passive: readonly RegExp[];
  /** Found in the clause up to the end of the claim, these say that nothing was done, or that it is not certain. */
  readonly denied: RegExp;
  /** Found anywhere in a passive clause, these say that it was done by somebody else, or at another time. */
  readonly elsewhere: RegExp;
  /** How a sentence begins that is a question as a whole. */
  readonly asks: RegExp;
  /** A last clause that turns the sentence before it into a question: "right?". */
  readonly tag: RegExp;
}

/**
 * A pattern for text in lower case, in which `<name>` stands for a part. `\b` is an edge of a word and `\p{L}` a letter,
 * also of words with accents. (The classes of Unicode would take seconds to compile in so many places.)
 */
export function pattern(source: string, parts: Readonly<Record<string, string>> = {}): RegExp {
  const filled = source.replace(/<(\w+)>/g, (_, name: string) => {
    const part = parts[name];
    if (part === undefined) throw new Error(`a pattern names the unknown part ${name}`);
    return `(?:${part})`;
  });
  return new RegExp(filled.replaceAll(String.raw`\b`, WORD_EDGE).replaceAll(String.raw`\p{L}`, LETTER));
}

const LETTER = '[a-z\u00df-\u00ff]';
const SIGN = '[a-z0-9\u00df-\u00ff]';
const WORD_EDGE = `(?:(?<!${SIGN})(?=${SIGN})|(?<=${SIGN})(?!${SIGN}))`;

/** Joins words to alternatives. */
export function anyOf(words: string): string {
  return words.trim().split(/\s+/).join('|');
}
