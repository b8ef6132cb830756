import {
  type AskedAction,
  minutesLeft,
  type Outcome,
  type Receipt,
  readActions,
} from '../../../../src/channel/event-stream.ts';
import type { Approval, Question, QuestionState } from '../talk/question.ts';
import type { Answer } from '../talk/transcript.ts';
import { fill, type Texts } from '../texts.ts';
import { button, drawing, h, type IconName, icon, set } from '../view/dom.ts';
import { addStyle } from '../view/part-style.ts';
import { withPartTexts } from '../view/part-texts.ts';
import style from './style.css';

const TICK_MS = 5000;

/** How each outcome looks. The other states have no outcome yet. */
const SIGNS: Readonly<Partial<Record<ShownState, IconName>>> = {
  done: 'check',
  partly: 'warning',
  failed: 'cross',
  declined: 'cross',
  unknown: 'warning',
};
const CLOCK = 'M12 4.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15M12 8v4.2l2.8 1.8';

/** `partly`: of several confirmed actions, not all were done. */
type ShownState = QuestionState | Outcome | 'partly';

function createSign(state: ShownState): SVGElement | null {
  const name = SIGNS[state];
  if (name) return icon(name);
  return state === 'expired' || state === 'closed' ? drawing('clock', CLOCK) : null;
}

/**
 * The card of a question: what would be done, and for whom. Its outcome takes the place of the buttons. Also the lines
 * about what was done without a question.
 */
export class Card {
  readonly element = h('section', { class: 'card', hidden: true });
  /** What the answer did without a question. */
  readonly receipts = h('ul', { class: 'tools did', role: 'list', hidden: true });
  readonly #texts: Texts;
  readonly #answer: (approve: Approval) => void;
  readonly #left = h('span');
  /** Of several actions, a box for each. */
  #boxes: HTMLInputElement[] = [];
  /** The question and its state that are shown. */
  #id = '';
  #state: QuestionState | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(texts: Texts, answer: (approve: Approval) => void) {
    this.#texts = withPartTexts(texts);
    this.#answer = answer;
  }

  /**
   * Shows the question of an answer, and what the answer did.
   * @returns what to announce to screen readers: a new question with its buttons, or what became of it
   */
  show({ asks, did }: Pick<Answer, 'asks' | 'did'>): readonly string[] {
    addStyle(this.element, style);
    const lines = did?.actions ?? [];
    this.receipts.replaceChildren(...lines.map((receipt) => this.#receipt(receipt)));
    set(this.receipts, { hidden: lines.length === 0 });
    return asks ? this.#ask(asks) : [];
  }

  #receipt({ summary, outcome, at }: Receipt): HTMLElement {
    const words = h('span', {}, bdi(summary), h('span', {}, this.#describeState({ at }, outcome)));
    return h('li', { class: 'tool' }, createSign(outcome) ?? '', words);
  }

  #ask(question: Question): readonly string[] {
    const state = currentState(question);
    set(this.element, { hidden: state === 'repeated' });
    if (question.id === this.#id && state === this.#state) return [];
    const isNew = this.#id !== question.id;
    this.#id = question.id;
    this.#state = state;
    this.#build(question, state);
    clearInterval(this.#timer);
    if (state !== 'open') return isNew ? [] : [this.element.querySelector('.outcome')?.textContent ?? ''];
    this.#count(question);
    this.#timer = setInterval(() => this.#count(question), TICK_MS);
    const words = [...this.element.querySelectorAll('h3, dt, dd, .as')].map((one) => one.textContent);
    return isNew ? [words.filter(Boolean).join('. '), this.#hint(question)] : [];
  }

  /** How the buttons are announced. */
  #hint(question: Question): string {
    const { decline, question: words } = this.#texts;
    return fill(words, { confirm: this.#chooseVerb(question), decline });
  }

  /** One action has a verb of its own. Several have only the general word. */
  #chooseVerb(question: Question): string {
    const [first, second] = readActions(question);
    return (second === undefined && first?.confirm_label) || this.#texts.confirm;
  }

  #build(question: Question, state: QuestionState): void {
    const { as } = question;
    const actions = readActions(question);
    this.#boxes = [];
    const list = actions.map((action, index) =>
      h(
        'div',
        { class: 'ask' },
        this.#heading(question, state, action, actions.length > 1 ? index + 1 : 0),
        ...(action.details.length > 0 ? [createDetails(action)] : []),
      ),
    );
    const whose = as === null ? '' : fill(this.#texts.actsAs, { name: as });
    const terms = h('p', { class: 'terms' }, h('span', { class: 'as' }, bdi(whose)), this.#left);
    const end = state === 'open' ? this.#buttons(question) : this.#outcome(question, state);
    set(this.element, { 'data-state': state });
    this.element.replaceChildren(...list, h('div', { class: 'decision' }, terms, end));
    set(this.#left, { hidden: true });
  }

  /** The heading of an action. One of several has a box, with which the visitor can leave it out, and later a sign. */
  #heading(question: Question, state: QuestionState, action: AskedAction, number: number): HTMLElement {
    if (number === 0) return h('h3', {}, bdi(action.title));
    const title = h('h3', {}, bdi(`${number}. ${action.title}`));
    const { approved = state === 'declined' ? false : state !== 'expired' } = question;
    const isChosen = typeof approved === 'boolean' ? approved : approved.includes(number);
    if (['open', 'sending', 'refusing', 'words'].includes(state)) {
      const box = h('input', { type: 'checkbox', checked: isChosen, disabled: state !== 'open' });
      this.#boxes.push(box);
      return h('label', { class: 'what' }, box, title);
    }
    const receipt = question.receipts?.find(({ id }) => id === `${question.id}:${number}`);
    const outcome = isChosen ? receipt?.outcome : 'declined';
    if (outcome === undefined) {
      // After an action that failed, the rest is not made.
      const isLeftOut = (question.receipts?.length ?? 0) > 0;
      const sign = isLeftOut ? createSign('declined') : null;
      return h('div', { class: isLeftOut ? 'what declined' : 'what' }, sign ?? h('i'), title);
    }
    const words = h('span', { class: 'heard' }, `: ${this.#describeState(question, outcome)}`);
    return h('div', { class: `what ${outcome}` }, createSign(outcome) ?? '', title, words);
  }

  /** The actions that are chosen. */
  #chosen(): Approval {
    const numbers = this.#boxes.flatMap(({ checked }, index) => (checked ? index + 1 : []));
    return numbers.length === this.#boxes.length ? true : numbers.length > 0 && numbers;
  }

  #buttons(question: Question): HTMLElement {
    const { decline, confirmSome } = this.#texts;
    const label = this.#chooseVerb(question);
    const primary = button({ class: 'primary' }, () => this.#answer(this.#chosen()), label);
    for (const box of this.#boxes)
      box.onchange = () => {
        const chosen = this.#chosen();
        // Nothing chosen is a no, and has a button of its own.
        primary.disabled = chosen === false;
        const counts = { all: this.#boxes.length, chosen: Array.isArray(chosen) ? chosen.length : 0 };
        primary.textContent = typeof chosen === 'boolean' ? label : fill(confirmSome, counts);
      };
    return h(
      'div',
      { class: 'choice', role: 'group', 'aria-label': this.#hint(question) },
      primary,
      button({ class: 'secondary' }, () => this.#answer(false), decline),
    );
  }

  #describeState({ at }: Pick<Question, 'at'>, state: ShownState): string {
    const time = new Date(at ?? Date.now()).toLocaleTimeString([], { timeStyle: 'short' });
    return fill(this.#texts.outcomes[state] ?? '', { time });
  }

  #outcome(question: Question, state: QuestionState): HTMLElement {
    const shown = isPartlyDone(question) ? 'partly' : state;
    return h(
      'p',
      { class: `outcome ${shown}` },
      createSign(shown) ?? h('i', { class: 'spinner', 'aria-hidden': 'true' }),
      h('span', {}, bdi(this.#describeState(question, shown))),
    );
  }

  #count(question: Question): void {
    const minutes = minutesLeft(question, Date.now());
    if (minutes !== null && minutes <= 0) {
      this.#ask(question);
      return;
    }
    set(this.#left, { hidden: minutes === null });
    if (minutes !== null) this.#left.textContent = fill(this.#texts.timeLeft, { minutes });
  }
}

function createDetails({ details }: AskedAction): HTMLElement {
  const rows = details.map(({ label, value }) =>
    h('div', {}, h('dt', {}, bdi(label)), h('dd', {}, bdi(value))),
  );
  return h('dl', {}, ...rows);
}

/** Text whose own direction does not change where it is. */
function bdi(text: string): HTMLElement {
  return h('bdi', {}, text);
}

/** Whether some of the confirmed actions were done, and others were not. */
function isPartlyDone({ actions, approved, receipts = [], state }: Question): boolean {
  const all = Array.isArray(actions) ? actions.length : 1;
  const done = receipts.filter(({ outcome }) => outcome === 'done').length;
  const confirmed = Array.isArray(approved) ? approved.length : all;
  return (state === 'done' || state === 'failed') && done > 0 && done < confirmed;
}

/** The state at this moment: an open question expires by itself. */
function currentState({ state, expires_at }: Pick<Question, 'state' | 'expires_at'>): QuestionState {
  return state === 'open' && expires_at <= Date.now() ? 'expired' : state;
}
