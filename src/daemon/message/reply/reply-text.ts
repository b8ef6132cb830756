import { StreamMask } from '../../settings/secret.ts';
import type { Outlet } from '../outlet.ts';

/** Maximum length of a runtime's text, in characters. The rest is cut off. */
const REPLY_MAX = 100_000;

/**
 * The beginning of markup that could hide or change the text that follows it: a tag, a comment, an instruction, or the
 * address in the definition of a link.
 */
const HIDING = /<|(?<=\]):/g;

/** Marks in a line that is not complete yet, or the beginning of marks at its end. */
const BEGUN_MARKS = /`{3,}|~{3,}|[`~]{1,2}$/;

/**
 * The reply while it is being composed. Each piece is passed to the outlet at once, except for pieces that must be
 * changed if a text of the daemon follows, and for the end of the reply, which the outlet gets with the complete reply.
 * Tokens in the text of a runtime are masked.
 */
export class ReplyText {
  readonly #outlet: Pick<Outlet, 'text'>;
  readonly #mayContinue: boolean;
  readonly #mask = new StreamMask();
  readonly #fences = new FenceReader();
  #text = '';
  /** The part of the last line of `#text` that the runtime has written. */
  #line = '';
  /** The end of the runtime's text that is not passed on yet. */
  #held = '';
  /** Whether `#held` begins with markup that would have to be changed. It is then held until the end. */
  #isStuck = false;
  #isClosed = false;
  #isEnding = false;
  #hasWords = false;

  /**
   * @param mayContinue whether a text of the daemon may follow the text of the runtime. If so, the runtime's text is
   * held back from the first markup on that could hide that text: `HIDING` markup, and fences on which readers of
   * Markdown do not agree.
   */
  constructor(outlet: Pick<Outlet, 'text'>, mayContinue: boolean) {
    this.#outlet = outlet;
    this.#mayContinue = mayContinue;
  }

  get text(): string {
    return this.#text + this.#held;
  }

  /** Whether the runtime has produced anything other than white space. */
  get hasWords(): boolean {
    return this.#hasWords;
  }

  /** Whether there is no room for more text of the runtime. */
  get isFull(): boolean {
    return this.#length >= REPLY_MAX;
  }

  /** Adds a text of the daemon before the text of the runtime. */
  begin(text: string): void {
    this.#append(`${text}\n\n`);
  }

  /** Adds a piece of the runtime's text. A possible beginning of a token is held back until more text has arrived. */
  push(piece: string): void {
    this.#say(this.#mask.push(piece));
  }

  /** Ends the text of the runtime, and adds the part that was held back because it might have been a token. */
  end(): void {
    this.#say(this.#mask.end());
  }

  /**
   * Adds a paragraph of the daemon, which is never cut off. First closes the runtime's text, so that no markup in it
   * can hide the paragraph.
   */
  add(text: string): void {
    if (!this.#isClosed) this.#close();
    this.#append(this.#text === '' ? text : `\n\n${text}`);
  }

  /** As `add`, for the end of the reply: clients show it in another form, which comes with the complete reply. */
  addEnd(text: string): void {
    if (!this.#isClosed) this.#close();
    this.#isEnding = true;
    this.add(text);
  }

  /** Adds the text that was held back, unchanged. Called if no text of the daemon follows. */
  finish(): void {
    this.#append(this.#held);
    this.#held = '';
  }

  get #length(): number {
    return this.#text.length + this.#held.length;
  }

  #say(masked: string): void {
    const text = masked.slice(0, Math.max(0, REPLY_MAX - this.#length)).toWellFormed();
    if (text.trim() !== '') this.#hasWords = true;
    this.#held += text;
    if (!this.#mayContinue) this.finish();
    while (!this.#isStuck && this.#held !== '' && this.#passOnLine());
  }

  /** Passes on the next line, or as much of it as may be passed on now. @returns whether the line was complete. */
  #passOnLine(): boolean {
    const end = this.#held.indexOf('\n');
    const isWhole = end !== -1;
    const line = isWhole ? this.#held.slice(0, end) : this.#held;
    const hides = this.#hidingIn(line);
    const marks = line.search(isWhole ? FENCE_MARKS : BEGUN_MARKS);
    const isClear = hides === -1 && (!isWhole || this.#fences.read(this.#line + line));
    if (isWhole && isClear) {
      this.#pass(end + 1);
      this.#line = '';
      return true;
    }
    this.#isStuck = isWhole ? !isClear : hides !== -1;
    this.#pass(Math.min(...[hides, marks, line.length].filter((at) => at !== -1)));
    return false;
  }

  /** Where the first `HIDING` markup begins in a text that continues the line; -1 if there is none. */
  #hidingIn(text: string): number {
    const last = this.#line.slice(-1);
    const at = (last + text).search(HIDING);
    return at === -1 ? -1 : at - last.length;
  }

  #pass(length: number): void {
    const text = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    this.#line += text;
    this.#append(text);
  }

  /** Changes the text that was held back, so that nothing in it hides what follows, and closes the open fence. */
  #close(): void {
    this.#isClosed = true;
    const last = this.#line.slice(-1);
    const safe = (last + this.#held)
      .replace(HIDING, (sign) => (sign === '<' ? '&lt;' : `\\${sign}`))
      .slice(last.length);
    this.#held = '';
    const lines = safe.split('\n').map((line, index) => {
      const isAgreed = this.#fences.read(index === 0 ? this.#line + line : line);
      return isAgreed ? line : line.replace(/`{3,}|~{3,}/g, (marks) => marks.replace(/./g, '\\$&'));
    });
    this.#append(lines.join('\n'));
    if (this.#fences.open !== null) this.#append(`\n${this.#fences.open}`);
  }

  #append(text: string): void {
    if (text === '') return;
    this.#text += text;
    if (!this.#isEnding) this.#outlet.text(text);
  }
}

/** A line that begins a fence for every reader of Markdown: at its very beginning, with at most a language after it. */
const PLAIN = /^(`{3,}|~{3,})[\w+#.-]*[ \t]*$/;
/** A line that ends a fence, if its marks are those of the fence. */
const END = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;
/** Marks that may be a fence: of how many lists and quotations they are part is up to the reader. */
const FENCE_MARKS = /`{3,}|~{3,}/;

/**
 * Follows the fences of code in a text. Readers of Markdown agree on plain fences only. Whether other marks begin a
 * fence depends on the indentation that a reader expects in lists.
 */
class FenceReader {
  #open: string | null = null;

  /** The marks that close the fence that is open; null if none is open. */
  get open(): string | null {
    return this.#open;
  }

  /** Reads the next line. @returns whether every reader sees the same in it. */
  read(line: string): boolean {
    if (this.#open !== null) {
      if (END.exec(line)?.[1]?.startsWith(this.#open)) this.#open = null;
      return true;
    }
    this.#open = PLAIN.exec(line)?.[1] ?? null;
    return this.#open !== null || !FENCE_MARKS.test(line);
  }
}
