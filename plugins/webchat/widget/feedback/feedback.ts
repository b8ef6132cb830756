import { type Texts, wordsForFailure } from '../texts.ts';
import { button, drawing, h, icon, set } from '../view/dom.ts';
import { addStyle } from '../view/part-style.ts';
import { withPartTexts } from '../view/part-texts.ts';
import style from './style.css';

/** Longest comment that the service takes, characters (agentd-service(7), "POST /feedback"). */
const MAX_COMMENT = 1000;
const THUMB = 'M7 11v8H4v-8zl3.5-6q3 0 2 5H19l-1.5 9H7';

type Rating = 1 | -1;

interface ThumbActions {
  /** Resolves to false if the service did not take the rating. */
  rate(rating: Rating, comment: string): Promise<boolean>;
  /** Announces text to screen readers. */
  say(words: string): void;
  /** The entry has grown. */
  grown(): void;
}

/** The thumbs below an answer. After a thumb down, a form asks what was wrong; the visitor can leave it out. */
export class Thumbs {
  readonly #texts: Texts;
  readonly #actions: ThumbActions;
  readonly #place = h('div');
  readonly #buttons: readonly (readonly [Rating, HTMLElement])[];

  /** @param meta the line below the answer. Its last element is the button that copies. */
  constructor(meta: HTMLElement, texts: Texts, actions: ThumbActions) {
    addStyle(meta, style);
    this.#texts = withPartTexts(texts);
    this.#actions = actions;
    const { rateGood, rateBad } = this.#texts;
    this.#buttons = [
      [1, this.#thumb(1, rateGood)],
      [-1, this.#thumb(-1, rateBad)],
    ];
    meta.querySelector('span')?.after(...this.#buttons.map(([, thumb]) => thumb));
    meta.after(this.#place);
  }

  /** Shows the rating of the answer. A screen reader announces by itself that a thumb is pressed. */
  show(rating: Rating | undefined): void {
    for (const [one, thumb] of this.#buttons) set(thumb, { 'aria-pressed': `${one === rating}` });
    if (rating !== -1) this.#place.replaceChildren();
  }

  #thumb(rating: Rating, label: string): HTMLElement {
    const act = async () => {
      if (!(await this.#rate(rating, '')) || rating === 1) return;
      this.#ask();
      this.#actions.grown();
    };
    const look = { class: `quiet thumb${rating}`, 'aria-label': label, title: label };
    return button(look, act, drawing('thumb', THUMB));
  }

  async #rate(rating: Rating, comment: string): Promise<boolean> {
    const isTaken = await this.#actions.rate(rating, comment);
    if (!isTaken) this.#actions.say(wordsForFailure(this.#texts, ''));
    return isTaken;
  }

  /** Asks what was wrong. If the service does not take the comment, the form stays. */
  #ask(): void {
    const { comment: label, commentSend, commentSkip, commented } = this.#texts;
    const place = this.#place;
    const field = h('textarea', { rows: 2, maxlength: MAX_COMMENT, dir: 'auto' });
    const submit = h('button', { class: 'primary' }, commentSend);
    const skip = button({ class: 'secondary' }, () => place.replaceChildren(), commentSkip);
    const form = h('form', { class: 'comment' }, h('label', {}, label, field), h('div', {}, submit, skip));
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const comment = field.value.trim();
      submit.disabled = true;
      if (comment !== '' && !(await this.#rate(-1, comment))) submit.disabled = false;
      else place.replaceChildren(h('p', { class: 'thanks', role: 'status' }, icon('check'), commented));
    });
    place.replaceChildren(form);
    field.focus({ preventScroll: true });
  }
}
