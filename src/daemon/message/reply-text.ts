import { StreamMask } from '../secret.ts';
import type { Outlet } from './outlet.ts';

/** Maximum length of a runtime's text, in characters. The rest is cut off. */
const REPLY_MAX = 100_000;

/**
 * The reply while it is being composed. Each piece is passed to the outlet at once. Tokens in the text of a runtime are
 * masked.
 */
export class ReplyText {
  readonly #outlet: Pick<Outlet, 'text'>;
  readonly #mask = new StreamMask();
  #text = '';
  #hasWords = false;

  constructor(outlet: Pick<Outlet, 'text'>) {
    this.#outlet = outlet;
  }

  get text(): string {
    return this.#text;
  }

  /** Whether the runtime has produced anything other than white space. */
  get hasWords(): boolean {
    return this.#hasWords;
  }

  /** Whether there is no room for more text of the runtime. */
  get isFull(): boolean {
    return this.#text.length >= REPLY_MAX;
  }

  /** Adds a text of the daemon before the text of the runtime. */
  begin(text: string): void {
    this.#append(`${text}\n\n`);
  }

  /** Adds a piece of the runtime's text. A possible beginning of a token is held back until more text has arrived. */
  push(piece: string): void {
    this.#say(this.#mask.push(piece));
  }

  /** Ends the text of the runtime, and adds the part that was held back. */
  end(): void {
    this.#say(this.#mask.end());
  }

  /** Adds a paragraph of the daemon, which is never cut off. */
  add(text: string): void {
    this.#append(this.#text === '' ? text : `\n\n${text}`);
  }

  #say(masked: string): void {
    const text = masked.slice(0, Math.max(0, REPLY_MAX - this.#text.length)).toWellFormed();
    if (text.trim() !== '') this.#hasWords = true;
    if (text !== '') this.#append(text);
  }

  #append(text: string): void {
    this.#text += text;
    this.#outlet.text(text);
  }
}
