import type { Trouble } from '../talk/memory.ts';
import { fill, type Texts } from '../texts.ts';
import { button, h, icon, set } from './dom.ts';

export interface TroubleActions {
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
    this.#button = button({ class: 'remedy' }, () => {
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
