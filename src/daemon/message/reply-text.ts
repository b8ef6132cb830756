import { StreamMask } from '../secret.ts';
import { closeFence } from './close-fence.ts';
import type { Outlet } from './outlet.ts';

/** Maximum length of a runtime's text, in characters. The rest is cut off. */
const REPLY_MAX = 100_000;

/**
 * The beginning of markup that could hide or change the text that follows it: a tag, a comment, an instruction, or the
 * address in the definition of a link.
 */
const HIDING = /<|(?<=\]):/g;

/**
 * The reply while it is being composed. Each piece is passed to the outlet at once, except for pieces that must be
 * changed if a text of the daemon follows. Tokens in the text of a runtime are masked.
 */
export class ReplyText {
  readonly #outlet: Pick<Outlet, 'text'>;
  readonly #mayContinue: boolean;
  readonly #mask = new StreamMask();
  #text = '';
  /** The end of the runtime's text, from the first `HIDING` markup on. */
  #held = '';
  #isClosed = false;
  #hasWords = false;

  /**
   * @param mayContinue whether a text of the daemon may follow the text of the runtime. If so, the runtime's text is
   * held back from the first `HIDING` markup on, until it is known whether a text follows.
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
  async add(text: string): Promise<void> {
    if (!this.#isClosed) await this.#close();
    this.#append(this.#text === '' ? text : `\n\n${text}`);
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
    const at = this.#held !== '' ? 0 : this.#mayContinue ? this.#hidingIn(text) : text.length;
    this.#append(text.slice(0, at));
    this.#held += text.slice(at);
  }

  /** Where the first `HIDING` markup begins in a text that continues the reply; its length if there is none. */
  #hidingIn(text: string): number {
    const last = this.#text.slice(-1);
    const at = (last + text).search(HIDING);
    return at === -1 ? text.length : at - last.length;
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    const last = this.#text.slice(-1);
    const escaped = (last + this.#held).replace(HIDING, (sign) => (sign === '<' ? '&lt;' : `\\${sign}`));
    this.#held = '';
    this.#append(escaped.slice(last.length));
    this.#append(await closeFence(this.#text));
  }

  #append(text: string): void {
    if (text === '') return;
    this.#text += text;
    this.#outlet.text(text);
  }
}
