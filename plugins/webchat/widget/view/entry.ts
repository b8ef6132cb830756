import { type Piece, TAGS } from '../markdown/inline.ts';
import { parseMarkdown, withoutTricks } from '../markdown/parse.ts';
import type { AgentState, Entry, Tool } from '../talk/memory.ts';
import { fill, type Texts, wordsForFailure, wordsForTool } from '../texts.ts';
import { Card } from './card.ts';
import { button, h, icon, iconButton, set } from './dom.ts';

export interface EntryActions {
  /** Sends the message of this entry again. */
  resend(): void;
  /** Answers the question of this entry. */
  answer(approve: boolean): void;
  /** Announces text to screen readers. */
  say(words: string): void;
  /** Begins the sign-in of the site. Null if the site has not said how. */
  signIn: (() => void) | null;
  /** Whether an answer says whose credentials it used. */
  showsCredentials: boolean;
  /** Rates the answer of an entry. Resolves to false if that failed. Null if answers have no thumbs. */
  rate: ((id: number, rating: 1 | -1) => Promise<boolean>) | null;
}

/** After a pause of this length, in ms, the next entry shows its time. */
const PAUSE_MS = 10 * 60_000;

/** One entry of the transcript. */
export class EntryView {
  readonly element: HTMLLIElement;
  readonly #texts: Texts;
  readonly #actions: EntryActions;
  readonly #body = h('div', { class: 'body', dir: 'auto' });
  readonly #tools = h('ul', { class: 'tools', role: 'list' });
  readonly #foot = h('div', { class: 'foot' });
  readonly #card: Card;
  readonly #signIn = h('p', { class: 'sign-in', hidden: true });
  readonly #meta = h('div', { class: 'meta', hidden: true });
  readonly #whose = h('span');
  /** Shows the rating of the answer. */
  readonly #thumbs: ((entry: AgentEntry) => void)[] = [];
  readonly #markdown: MarkdownView;
  #text = '';
  #toolsTold = 0;
  /** The state and length with which the entry was last shown. */
  #shown = '';

  /** @param before when the previous entry was written; absent for the first */
  constructor(entry: Entry, texts: Texts, actions: EntryActions, before?: number) {
    this.#texts = texts;
    this.#actions = actions;
    this.#markdown = new MarkdownView(this.#body, texts, actions.say);
    this.#card = new Card(texts, actions.answer);
    this.element = h('li', { class: `entry ${entry.from}` });
    if (entry.at) this.element.title = new Date(entry.at).toLocaleString();
    if (entry.at && entry.at - (before ?? 0) > PAUSE_MS)
      this.element.append(h('p', { class: 'when' }, timeOf(entry.at)));
    if (entry.from === 'agent') {
      const { element } = this.#card;
      this.element.append(heard(texts.assistant), this.#tools, this.#body, element, this.#signIn);
      this.element.append(this.#foot, this.#meta);
      this.#signIn.append(icon('lock'), h('span', {}, texts.signInNeeded));
      const { signIn } = actions;
      if (signIn) this.#signIn.append(button({ class: 'primary' }, signIn, texts.signIn));
      this.#meta.append(this.#whose);
      if (actions.rate) {
        this.#addThumb(entry.id, 1, texts.rateGood);
        this.#addThumb(entry.id, -1, texts.rateBad);
      }
      if (navigator.clipboard) this.#meta.append(this.#copyButton());
    }
    if (entry.from === 'visitor') this.element.append(heard(texts.you), this.#body, this.#foot);
    if (entry.from === 'widget') this.element.append(this.#body);
  }

  /**
   * Shows the entry.
   * @param aloud whether to announce a new question to screen readers
   * @returns false if nothing has changed since the last call
   */
  show(entry: Entry, aloud: boolean): boolean {
    const state = stateOf(entry);
    const asks = entry.from === 'agent' ? entry.asks : undefined;
    const rating = entry.from === 'agent' ? entry.rating : undefined;
    const shown = [state, entry.text.length, asks?.state, rating].join();
    if (shown === this.#shown && state !== 'writing') return false;
    this.#shown = shown;
    set(this.element, { 'data-state': state });
    if (entry.from === 'agent') {
      this.#announceTools(entry.tools, aloud);
      this.#markdown.show(entry.text);
      this.#tools.replaceChildren(...entry.tools.map((tool) => toolLine(tool, this.#texts)));
      set(this.#tools, { hidden: entry.tools.length === 0 });
      set(this.#body, { hidden: entry.text === '' });
      if (this.#card.show(state === 'done' ? asks : undefined) && aloud) this.#announceQuestion();
      set(this.#signIn, { hidden: state === 'writing' || !entry.tools.some((tool) => tool.needs_sign_in) });
      this.#showMeta(entry);
    } else this.#body.textContent = withoutTricks(entry.text);
    this.#showFoot(state === 'writing' && entry.text !== '' ? 'done' : state);
    return true;
  }

  /** The question is announced after the text of the answer. */
  #announceQuestion(): void {
    const { words, hint } = this.#card;
    queueMicrotask(() => {
      this.#actions.say(words);
      this.#actions.say(hint);
    });
  }

  /** Announces each tool once, when it starts. */
  #announceTools(tools: readonly Tool[], aloud: boolean): void {
    const fresh = tools.slice(this.#toolsTold);
    this.#toolsTold = tools.length;
    const { toolStarted } = this.#texts;
    const names = fresh.map((tool) => fill(toolStarted, { tool: wordsForTool(this.#texts, tool) }));
    if (aloud && names.length > 0) this.#actions.say(names.join(' '));
  }

  #showMeta(entry: AgentEntry): void {
    const { state, text, acted_as, asks } = entry;
    const { actsAs, notSignedIn } = this.#texts;
    const whose = acted_as === null ? notSignedIn : acted_as && fill(actsAs, { name: acted_as });
    this.#whose.textContent = (this.#actions.showsCredentials && whose) || '';
    set(this.#meta, { hidden: state === 'writing' || text === '' || asks?.state === 'open' });
    for (const show of this.#thumbs) show(entry);
    this.#text = text;
  }

  /** A screen reader announces by itself that a thumb is pressed. */
  #addThumb(id: number, rating: 1 | -1, label: string): void {
    const thumb = iconButton('thumb', label, `quiet thumb${rating}`, async () => {
      if (!(await this.#actions.rate?.(id, rating))) this.#actions.say(wordsForFailure(this.#texts, ''));
    });
    this.#meta.append(thumb);
    this.#thumbs.push((entry) =>
      set(thumb, { hidden: !entry.message_id, 'aria-pressed': `${entry.rating === rating}` }),
    );
  }

  #copyButton(): HTMLElement {
    const { copyAnswer, copied } = this.#texts;
    const copy = iconButton('copy', copyAnswer, 'quiet copy-answer', async () => {
      await navigator.clipboard.writeText(this.#text);
      copy.replaceChildren(icon('check'));
      this.#actions.say(copied);
    });
    return copy;
  }

  #showFoot(what: EntryState): void {
    set(this.#foot, { hidden: what === 'done' });
    if (this.#foot.dataset.what === what) return;
    this.#foot.dataset.what = what;
    if (what === 'writing') {
      const dots = h('span', { class: 'dots', 'aria-hidden': 'true' }, h('i'), h('i'), h('i'));
      this.#foot.replaceChildren(dots, heard(this.#texts.waiting));
    } else if (what !== 'done') this.#foot.replaceChildren(this.#texts[what]);
    if (what !== 'undelivered') return;
    this.#foot.append(' ', button({ class: 'again' }, this.#actions.resend, this.#texts.resend));
  }
}

type AgentEntry = Extract<Entry, { from: 'agent' }>;
type EntryState = AgentState | 'undelivered';

function stateOf(entry: Entry): EntryState {
  if (entry.from === 'agent') return entry.state;
  return entry.from === 'visitor' && entry.undelivered ? 'undelivered' : 'done';
}

function heard(words: string): HTMLElement {
  return h('span', { class: 'heard' }, `${words}: `);
}

/** The time of an entry: with the day, unless it is today. */
function timeOf(at: number): string {
  const when = new Date(at);
  const isToday = when.toDateString() === new Date().toDateString();
  const day = isToday ? {} : ({ dateStyle: 'medium' } as const);
  return when.toLocaleString(document.documentElement.lang || [], { ...day, timeStyle: 'short' });
}

function toolLine(tool: Tool, texts: Texts): HTMLElement {
  const form = { started: texts.toolStarted, completed: texts.toolCompleted, failed: texts.toolFailed }[
    tool.needs_sign_in ? 'completed' : tool.status
  ];
  const name = tool.needs_sign_in ? 'lock' : tool.status === 'failed' ? 'cross' : 'check';
  const sign =
    tool.status === 'started' ? h('span', { class: 'spinner', 'aria-hidden': 'true' }) : icon(name);
  return h('li', { class: 'tool' }, sign, fill(form, { tool: wordsForTool(texts, tool) }));
}

const ALLOWED: ReadonlySet<string> = new Set(TAGS);

/**
 * Shows Markdown inside an element. Unchanged nodes are kept, so that a selection survives while the reply grows. Nodes
 * are created one by one: text is never parsed as HTML.
 */
class MarkdownView {
  readonly #place: HTMLElement;
  /** The blocks that are shown, as JSON. */
  #shown: string[] = [];

  readonly #texts: Texts;
  readonly #say: (words: string) => void;

  constructor(place: HTMLElement, texts: Texts, say: (words: string) => void) {
    this.#place = place;
    this.#texts = texts;
    this.#say = say;
  }

  show(text: string): void {
    const blocks = parseMarkdown(text);
    const wanted = blocks.map((block) => JSON.stringify(block));
    const same = wanted.findIndex((block, index) => block !== this.#shown[index]);
    const from = same === -1 ? wanted.length : same;
    while (this.#place.childNodes.length > from) this.#place.lastChild?.remove();
    this.#place.append(...blocks.slice(from).map((block) => this.#nodeOf(block)));
    this.#shown = wanted;
  }

  #nodeOf(piece: Piece): Node {
    if (typeof piece === 'string') return document.createTextNode(piece);
    const { tag, children, href, start, align } = piece;
    if (!ALLOWED.has(tag)) throw new TypeError(`no such element: ${tag}`);
    const made = document.createElement(tag);
    set(made, ATTRIBUTES[tag] ?? { dir: 'auto' });
    if (href !== undefined) set(made, { href });
    if (start !== undefined) set(made, { start });
    if (align !== undefined) made.style.textAlign = align;
    made.append(...children.map((child) => this.#nodeOf(child)));
    if (tag !== 'table' && tag !== 'pre') return made;
    const scroller = h('div', { class: 'wide', tabindex: 0 }, made);
    // A page without a secure origin has no clipboard.
    return tag === 'pre' && navigator.clipboard
      ? h('div', { class: 'code', dir: 'ltr' }, scroller, this.#copyButton(made))
      : scroller;
  }

  #copyButton(code: HTMLElement): HTMLElement {
    const { copy, copied } = this.#texts;
    const button = iconButton('copy', copy, 'quiet copy', async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.replaceChildren(icon('check'));
      this.#say(copied);
    });
    return button;
  }
}

/** Attributes that do not depend on the text. Any other element detects its own text direction. */
const ATTRIBUTES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  a: { target: '_blank', rel: 'noopener noreferrer nofollow' },
  th: { scope: 'col', dir: 'auto' },
  pre: { dir: 'ltr' },
};
