import { StreamMask } from '../secret.ts';
import type { Outlet } from './outlet.ts';

/** Longest text of a runtime, in characters; what it says beyond it is cut off. */
const REPLY_MAX = 100_000;

/** The reply as it grows. Each piece goes to the outlet at once; tokens in the text of a runtime are masked. */
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

  /** The runtime has said something other than white space. */
  get hasWords(): boolean {
    return this.#hasWords;
  }

  /** Nothing more of the runtime fits. */
  get isFull(): boolean {
    return this.#text.length >= REPLY_MAX;
  }

  /** A text of the daemon before that of the runtime. */
  begin(text: string): void {
    this.#append(`${text}\n\n`);
  }

  /** A piece from the runtime. What may be the beginning of a token is held back until more has come. */
  push(piece: string): void {
    this.#say(this.#mask.push(piece));
  }

  /** The runtime says nothing more: adds what was held back. */
  end(): void {
    this.#say(this.#mask.end());
  }

  /** A paragraph of the daemon, which is never cut. */
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
