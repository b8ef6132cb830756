import type { Trouble } from '../talk/trouble.ts';
import { fill, type Texts } from '../texts.ts';
import { button, h, icon, set } from './dom.ts';

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

interface TroubleActions {
  retry(): void;
  startOver(): void;
}

/** Shows why there is no answer, and what to do. Counts down if the service asked to wait. */
export class TroubleView {
  readonly element = h('div', { class: 'trouble', hidden: true });
  readonly #words = h('p', { dir: 'auto' });
  readonly #button: HTMLButtonElement;
  readonly #texts: Texts;
  #shown: Trouble | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(texts: Texts, actions: TroubleActions) {
    this.#texts = texts;
    this.#button = button({ class: 'secondary remedy' }, () => {
      if (this.#shown === null || this.#secondsLeft(this.#shown) > 0) return;
      if (this.#shown.remedy === 'anew') actions.startOver();
      else actions.retry();
    });
    this.element.append(icon('warning'), this.#words, this.#button);
  }

  /**
   * Shows the problem.
   * @returns whether it was not shown before
   */
  show(trouble: Trouble | null): boolean {
    if (trouble === this.#shown) return false;
    this.#shown = trouble;
    clearInterval(this.#timer);
    set(this.element, { hidden: trouble === null });
    if (trouble === null) return false;
    this.#words.textContent = trouble.text;
    set(this.#button, { hidden: trouble.remedy === 'edit' });
    this.#count(trouble);
    if (this.#secondsLeft(trouble) > 0) this.#timer = setInterval(() => this.#count(trouble), 1000);
    return true;
  }

  #count(trouble: Trouble): void {
    const seconds = this.#secondsLeft(trouble);
    const { retry, retryIn, restart } = this.#texts;
    const again = seconds > 0 ? fill(retryIn, { seconds }) : retry;
    this.#button.textContent = trouble.remedy === 'anew' ? restart : again;
    // The button is not `disabled`, because that would remove the focus.
    set(this.#button, { 'aria-disabled': seconds > 0 ? 'true' : false });
    if (seconds === 0) clearInterval(this.#timer);
  }

  #secondsLeft({ at, remedy }: Trouble): number {
    return remedy === 'again' ? Math.max(0, Math.ceil((at - Date.now()) / 1000)) : 0;
  }
}
