import type { Approval, AskedAction, Question, QuestionState } from '../talk/question.ts';
import { fill, type Texts } from '../texts.ts';
import { button, h, type IconName, icon, set } from './dom.ts';

/** The time that is left is shown when it is shorter than this, in ms. */
const SHORT_MS = 5 * 60_000;
const TICK_MS = 5000;

/** How each outcome looks. The other states have no outcome yet. */
const SIGNS: Readonly<Partial<Record<QuestionState, IconName>>> = {
  done: 'check',
  failed: 'cross',
  declined: 'cross',
  expired: 'clock',
  unknown: 'warning',
  closed: 'clock',
};

/** The card of a question: what would be done, and for whom. Its outcome takes the place of the buttons. */
export class Card {
  readonly element = h('section', { class: 'card', hidden: true });
  readonly #texts: Texts;
  readonly #answer: (approve: Approval) => void;
  readonly #end = h('div', { class: 'decision' });
  readonly #left = h('p', { class: 'left' });
  /** Of several actions, a box for each. */
  #boxes: HTMLInputElement[] = [];
  #question: Question | null = null;
  #shown: string | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(texts: Texts, answer: (approve: Approval) => void) {
    this.#texts = texts;
    this.#answer = answer;
  }

  /** The words that announce the question to screen readers. */
  get words(): string {
    return [...this.element.querySelectorAll('h3, dt, dd, .as')].map((one) => one.textContent).join('. ');
  }

  /** How the buttons are announced. */
  get hint(): string {
    const { confirm, decline, question } = this.#texts;
    return fill(question, { confirm: labelOf(this.#question, confirm), decline });
  }

  /** @returns whether an open question is shown that was not shown before */
  show(question: Question | undefined): boolean {
    const state = question && stateOf(question);
    set(this.element, { hidden: !question || state === 'repeated' });
    if (!question) return false;
    const shown = `${question.id} ${state}`;
    if (shown === this.#shown) return false;
    const isNew = this.#question?.id !== question.id;
    this.#question = question;
    this.#shown = shown;
    if (isNew) this.#build(question);
    set(this.element, { 'data-state': state as string });
    for (const box of this.#boxes) box.disabled = state !== 'open';
    clearInterval(this.#timer);
    this.#end.replaceChildren(...(state === 'open' ? this.#buttons(question) : this.#outcome(question)));
    if (state !== 'open') return false;
    this.#count(question);
    this.#timer = setInterval(() => this.#count(question), TICK_MS);
    return isNew;
  }

  #build({ actions, as }: Question): void {
    this.#boxes = [];
    const list = actions.map((action, index) => this.#action(action, actions.length > 1 ? index + 1 : 0));
    const whose = as === null ? [] : [h('p', { class: 'as' }, fill(this.#texts.actsAs, { name: as }))];
    this.element.replaceChildren(...list.flat(), ...whose, this.#end);
  }

  #action({ title, details }: AskedAction, number: number): HTMLElement[] {
    const heading = number > 0 ? this.#choice(number, title) : h('h3', { dir: 'auto' }, title);
    if (details.length === 0) return [heading];
    const rows = details.map(({ label, value }) =>
      h('div', {}, h('dt', { dir: 'auto' }, label), h('dd', { dir: 'auto' }, value)),
    );
    return [heading, h('dl', {}, ...rows)];
  }

  /** One of several actions, which the visitor can leave out. */
  #choice(number: number, title: string): HTMLElement {
    const box = h('input', { type: 'checkbox', checked: true });
    this.#boxes.push(box);
    return h('label', {}, box, h('h3', { dir: 'auto' }, `${number}. ${title}`));
  }

  /** The actions that are chosen. */
  #chosen(): Approval {
    const numbers = this.#boxes.flatMap(({ checked }, index) => (checked ? index + 1 : []));
    return numbers.length === this.#boxes.length ? true : numbers.length > 0 && numbers;
  }

  #buttons(question: Question): HTMLElement[] {
    const { confirm, decline } = this.#texts;
    const primary = button(
      { class: 'primary' },
      () => this.#answer(this.#chosen()),
      labelOf(question, confirm),
    );
    for (const box of this.#boxes)
      box.onchange = () => {
        // Nothing chosen is a no, and has a button of its own.
        primary.disabled = this.#chosen() === false;
      };
    const group = h(
      'div',
      { class: 'choice', role: 'group', 'aria-label': this.hint },
      primary,
      button({ class: 'secondary' }, () => this.#answer(false), decline),
    );
    return [group, this.#left];
  }

  #outcome({ state, at }: Question): Node[] {
    const shown = stateOf({ state, expires_at: this.#question?.expires_at ?? 0 });
    const words = this.#texts.outcomes[shown] ?? '';
    const time = new Date(at ?? Date.now()).toLocaleTimeString([], { timeStyle: 'short' });
    const sign = SIGNS[shown];
    return [
      h(
        'p',
        { class: `outcome ${shown}` },
        sign ? icon(sign) : h('span', { class: 'spinner', 'aria-hidden': 'true' }),
        h('span', {}, fill(words, { time })),
      ),
    ];
  }

  #count(question: Question): void {
    const left = question.expires_at - Date.now();
    if (left <= 0) {
      this.show(question);
      return;
    }
    const minutes = Math.ceil(left / 60_000);
    set(this.#left, { hidden: left > SHORT_MS });
    this.#left.textContent = fill(this.#texts.timeLeft, { minutes });
  }
}

/** The state at this moment: an open question expires by itself. */
function stateOf({ state, expires_at }: Pick<Question, 'state' | 'expires_at'>): QuestionState {
  return state === 'open' && expires_at <= Date.now() ? 'expired' : state;
}

/** One action has a verb of its own. Several have only the general word. */
function labelOf(question: Question | null, confirm: string): string {
  const [first, second] = question?.actions ?? [];
  return (second === undefined && first?.confirm_label) || confirm;
}
