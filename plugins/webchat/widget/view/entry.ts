import { withoutTricks } from '../markdown/parse.ts';
import type { Approval } from '../talk/question.ts';
import { type AgentState, type Answer, type Entry, shownText, type Tool } from '../talk/transcript.ts';
import { fill, type Texts, wordsForTool } from '../texts.ts';
import { button, h, icon, set } from './dom.ts';
import { copyButton, MarkdownView } from './markdown-view.ts';
import type { LoadPart } from './parts.ts';

export interface EntryActions {
  /** Sends the message of this entry again. */
  resend(): void;
  /** Answers the question of this entry. */
  answer(approve: Approval): void;
  /** Announces text to screen readers. */
  say(words: string): void;
  /** Begins the sign-in of the site. Null if the site has not said how. */
  signIn: (() => void) | null;
  /** Whether an answer says whose credentials it used. */
  showsCredentials: boolean;
  /** Rates the answer of an entry. Resolves to false if that failed. Null if answers have no thumbs. */
  rate: ((id: number, rating: 1 | -1, comment: string) => Promise<boolean>) | null;
  load: LoadPart;
  /** The entry has grown after it was shown. */
  grown(): void;
}

/** After a pause of this length, in ms, the next entry shows its time. */
const PAUSE_MS = 10 * 60_000;

/** One entry of the transcript. */
export class EntryView {
  readonly element: HTMLLIElement;
  readonly #texts: Texts;
  readonly #actions: EntryActions;
  readonly #body = h('div', { class: 'body' });
  readonly #tools = h('ul', { class: 'tools', role: 'list' });
  readonly #foot = h('div', { class: 'foot' });
  readonly #signIn = h('p', { class: 'sign-in', hidden: true });
  readonly #meta = h('div', { class: 'meta', hidden: true });
  readonly #whose = h('span');
  readonly #markdown: MarkdownView;
  #text = '';
  #card: Promise<import('../card/card.ts').Card> | undefined;
  #thumbs: Promise<import('../feedback/feedback.ts').Thumbs> | undefined;
  #toolsTold = 0;
  /** The state and length with which the entry was last shown. */
  #shown = '';

  /** @param before when the previous entry was written; 0 for the first */
  constructor(entry: Entry, texts: Texts, actions: EntryActions, before: number) {
    this.#texts = texts;
    this.#actions = actions;
    this.#markdown = new MarkdownView(this.#body, texts, actions.say);
    this.element = h('li', { class: `entry ${entry.from}` });
    this.element.title = new Date(entry.at).toLocaleString();
    if (entry.at - before > PAUSE_MS)
      this.element.append(h('p', { class: 'when', dir: 'auto' }, formatTime(entry.at)));
    if (entry.from === 'agent') {
      this.#body.dir = 'auto';
      this.element.append(heard(texts.assistant), this.#tools, this.#body);
      this.element.append(this.#signIn, this.#foot, this.#meta);
      this.#signIn.append(icon('lock'), h('span', {}, texts.signInNeeded));
      const { signIn } = actions;
      if (signIn) this.#signIn.append(button({ class: 'primary' }, signIn, texts.signIn));
      this.#meta.append(this.#whose);
      if (navigator.clipboard)
        this.#meta.append(
          copyButton(texts, actions.say, [texts.copyAnswer, 'copy-answer'], () => this.#text),
        );
    } else {
      if (entry.from === 'visitor') this.element.append(heard(texts.you));
      this.element.append(this.#body, this.#foot);
    }
  }

  /**
   * Shows the entry.
   * @param aloud whether to announce a new question to screen readers
   * @returns false if nothing has changed since the last call
   */
  show(entry: Entry, aloud: boolean): boolean {
    const state = entryState(entry);
    const [asks, did, rating] = entry.from === 'agent' ? [entry.asks, entry.did, entry.rating] : [];
    const shown = [state, entry.text.length, asks?.state, did?.begins_at, rating].join();
    if (shown === this.#shown && state !== 'writing') return false;
    this.#shown = shown;
    set(this.element, { 'data-state': state });
    if (entry.from === 'agent') {
      this.#text = shownText(entry);
      this.#announceTools(entry.tools, aloud);
      this.#markdown.show(this.#text);
      const tools = entry.tools.slice(entry.told).filter((tool) => !tool.needs_sign_in);
      this.#tools.replaceChildren(...tools.map((tool) => toolLine(tool, this.#texts)));
      set(this.#tools, { hidden: tools.length === 0 });
      set(this.#body, { hidden: this.#text === '' });
      const hasCard = asks !== undefined || did?.actions[0] !== undefined;
      if (hasCard && state === 'done') void this.#showCard(entry, aloud);
      set(this.element, {
        hidden: state === 'done' && this.#text === '' && !hasCard && entry.tools.length <= (entry.told ?? 0),
      });
      set(this.#signIn, { hidden: state === 'writing' || !needsSignIn(entry) });
      this.#showMeta(entry);
    } else this.#body.textContent = withoutTricks(entry.text);
    this.#showFoot(this.#meta.hidden && (state !== 'writing' || this.#text === '') ? state : 'done');
    return true;
  }

  /**
   * Shows what was done, and the question, which is announced after the text of the answer. If they cannot be loaded,
   * they stay in words.
   */
  async #showCard(entry: Answer, aloud: boolean): Promise<void> {
    const { answer, grown, load, say } = this.#actions;
    this.#card ??= load('card').then(({ Card }) => {
      const made = new Card(this.#texts, answer);
      this.#signIn.before(made.receipts, made.element);
      return made;
    });
    try {
      const words = (await this.#card).show(entry);
      if (aloud) words.forEach(say);
    } catch (error) {
      console.warn(error);
      this.#card = undefined;
      this.#markdown.show(entry.text);
      set(this.#body, { hidden: false });
    }
    grown();
  }

  /** Announces each tool once, when it starts. */
  #announceTools(tools: readonly Tool[], aloud: boolean): void {
    const fresh = tools.slice(this.#toolsTold);
    this.#toolsTold = tools.length;
    const { toolStarted } = this.#texts;
    const names = fresh.map((tool) => fill(toolStarted, { tool: wordsForTool(this.#texts, tool) }));
    if (aloud && names.length > 0) this.#actions.say(names.join(' '));
  }

  #showMeta(entry: Answer): void {
    const { state, acted_as, asks } = entry;
    // A question has its outcome, and a refusal its button: neither is an answer to rate.
    const isAnswer = state !== 'writing' && this.#text !== '' && asks === undefined && !needsSignIn(entry);
    const { actsAs, notSignedIn } = this.#texts;
    const whose = acted_as === null ? notSignedIn : acted_as && fill(actsAs, { name: acted_as });
    const end = state !== 'done' && state !== 'writing' && this.#texts[state];
    this.#whose.textContent = [end, this.#actions.showsCredentials && whose].filter(Boolean).join(' · ');
    set(this.#meta, { hidden: !isAnswer });
    this.#showThumbs(entry);
  }

  /** An answer without an id cannot be rated. */
  #showThumbs({ id, message_id, rating }: Answer): void {
    const { grown, load, rate, say } = this.#actions;
    if (!rate || !message_id) return;
    this.#thumbs ??= load('feedback').then(
      ({ Thumbs }) => new Thumbs(this.#meta, this.#texts, { grown, say, rate: (...of) => rate(id, ...of) }),
    );
    this.#thumbs.then((thumbs) => thumbs.show(rating), console.warn);
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

type EntryState = AgentState | 'undelivered';

function entryState(entry: Entry): EntryState {
  if (entry.from === 'agent') return entry.state;
  return entry.from === 'visitor' && entry.undelivered ? 'undelivered' : 'done';
}

/** Whether a call was not made because the visitor must sign in first. */
function needsSignIn({ tools }: Answer): boolean {
  return tools.some((tool) => tool.needs_sign_in);
}

function heard(words: string): HTMLElement {
  return h('span', { class: 'heard' }, `${words}: `);
}

/** The time of an entry, as the visitor’s browser writes it: with the day, unless it is today. */
function formatTime(at: number): string {
  const when = new Date(at);
  const isToday = when.toDateString() === new Date().toDateString();
  const day = isToday ? {} : ({ dateStyle: 'medium' } as const);
  return when.toLocaleString([], { ...day, timeStyle: 'short' });
}

function toolLine(tool: Tool, texts: Texts): HTMLElement {
  const { status } = tool;
  const form = { started: texts.toolStarted, completed: texts.toolCompleted, failed: texts.toolFailed }[
    status
  ];
  const sign =
    status === 'started'
      ? h('span', { class: 'spinner', 'aria-hidden': 'true' })
      : icon(status === 'failed' ? 'cross' : 'check');
  return h('li', { class: 'tool' }, sign, fill(form, { tool: wordsForTool(texts, tool) }));
}
