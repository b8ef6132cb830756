import type { Texts } from '../texts.ts';
import { h, icon, set } from './dom.ts';

/** Maximum length of a message that the daemon accepts, in characters. */
const MAX_MESSAGE = 16_000;

export interface ComposerActions {
  /** Returns false if the text was not sent: it is blank, or an answer is still being written. */
  send(text: string): boolean;
  stop(): Promise<void>;
}

/** The input field with its button. The button sends the message, or stops the answer that is being written. */
export class Composer {
  readonly element: HTMLFormElement;
  readonly #field: HTMLTextAreaElement;
  readonly #button: HTMLButtonElement;
  readonly #texts: Texts;
  #busy = false;

  constructor(texts: Texts, actions: ComposerActions) {
    this.#texts = texts;
    this.#field = h('textarea', {
      rows: 1,
      maxlength: MAX_MESSAGE,
      dir: 'auto',
      'aria-label': texts.message,
      placeholder: texts.placeholder,
      enterkeyhint: 'send',
    });
    this.#button = h(
      'button',
      { class: 'action', 'aria-label': texts.send, title: texts.send },
      icon('send'),
    );
    this.element = h('form', { class: 'composer' }, this.#field, this.#button);
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      if (this.#busy) void actions.stop();
      else this.#submit(actions);
      this.focus();
    });
    this.#field.addEventListener('keydown', (event) => {
      // While an input method composes a word, Enter is for the input method. (Code 229: Safari ends the composition
      // first.)
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      if (!this.#busy) this.#submit(actions);
    });
    this.#field.addEventListener('input', () => this.#fit());
  }

  focus(): void {
    this.#field.focus({ preventScroll: true });
  }

  show(busy: boolean): void {
    if (busy === this.#busy) return;
    this.#busy = busy;
    const label = busy ? this.#texts.stop : this.#texts.send;
    this.#button.replaceChildren(icon(busy ? 'stop' : 'send'));
    set(this.#button, { 'aria-label': label, title: label });
  }

  #submit(actions: ComposerActions): void {
    // The view may not show yet that an answer has begun, so the field is cleared only if the text was sent.
    if (!actions.send(this.#field.value)) return;
    this.#field.value = '';
    this.#fit();
  }

  /** Makes the field as high as its text, within the limits of the style sheet. */
  #fit(): void {
    this.#field.style.height = 'auto';
    this.#field.style.height = `${this.#field.scrollHeight}px`;
  }
}
