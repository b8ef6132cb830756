import type { Approval } from '../talk/question.ts';
import type { Connection, State } from '../talk/state.ts';
import { type Entry, shownText } from '../talk/transcript.ts';
import type { Texts } from '../texts.ts';
import { Composer, type ComposerActions, TroubleView } from './composer.ts';
import { Announcer, button, h, icon, iconButton, set } from './dom.ts';
import { type EntryActions, EntryView } from './entry.ts';
import type { LoadPart } from './parts.ts';

/** What the visitor can do in the chat. */
export interface PanelActions extends ComposerActions {
  retry(): Promise<void>;
  resend(id: number): Promise<void>;
  answer(id: number, approve: Approval): Promise<void>;
  rate(id: number, rating: 1 | -1, comment: string): Promise<boolean>;
  startOver(): void;
  undo(): void;
}

export interface PanelOptions {
  suggestions: readonly string[];
  /** Address of an image: the avatar of the assistant. */
  logo: string | null;
  /** A line that is always shown below the input field, for example that answers come from an AI. */
  notice: string | null;
  /** Whether an answer says whose credentials it used. */
  credentials: boolean;
  /** Whether answers have thumbs. */
  feedback: boolean;
}

/** The transcript counts as scrolled to its end if less than this distance remains, in px. */
const NEAR_END = 48;

/** The chat: a dialog next to the page, or covering the page on small screens. */
export class Panel {
  readonly element: HTMLDialogElement;
  readonly #texts: Texts;
  readonly #composer: Composer;
  readonly #trouble: TroubleView;
  readonly #announcer: Announcer;
  readonly #entries = h('ol', { class: 'entries', role: 'list' });
  readonly #suggestions = h('div', { class: 'suggestions' });
  readonly #status = h('span');
  readonly #scroller: HTMLElement;
  readonly #latest: HTMLButtonElement;
  readonly #views = new Map<number, EntryView>();
  readonly #undo: HTMLButtonElement;
  readonly #actions: PanelActions;
  readonly #entryOptions: Pick<EntryActions, 'signIn' | 'showsCredentials' | 'rate' | 'load' | 'grown'>;
  /** Whether the chat is a part of the page. It then cannot be closed. */
  inline = false;
  #following = true;
  #questions: readonly string[] = [];
  #connection: Connection = 'online';
  #reachable = true;
  #small = matchMedia('(max-width: 32em), (max-height: 30em)');

  constructor(
    texts: Texts,
    { suggestions, logo, notice, credentials, feedback }: PanelOptions,
    actions: PanelActions,
    { close, signIn, load }: { close(): void; signIn: (() => void) | null; load: LoadPart },
  ) {
    const rate: EntryActions['rate'] = (...of) => actions.rate(...of);
    this.#entryOptions = {
      signIn,
      load,
      showsCredentials: credentials,
      rate: feedback ? rate : null,
      grown: () => {
        if (this.#following) this.#toEnd();
      },
    };
    this.#texts = texts;
    this.#actions = actions;
    this.#composer = new Composer(texts, actions);
    const startOver = () => this.#press(() => actions.startOver());
    this.#trouble = new TroubleView(texts, { retry: () => this.#press(() => actions.retry()), startOver });
    this.#undo = button(
      { class: 'again', hidden: true },
      () => this.#press(() => actions.undo()),
      texts.undo,
    );
    this.#announcer = new Announcer(texts.conversation);
    this.#latest = iconButton('down', texts.latest, 'latest', () => {
      this.#toEnd();
      this.#composer.focus();
    });
    const title = h('h2', { id: 'title' }, h('bdi', {}, texts.title));
    this.suggest(suggestions);
    this.#scroller = h(
      'div',
      { class: 'transcript', role: 'group', 'aria-label': texts.conversation, tabindex: 0 },
      h('p', { class: 'greeting', dir: 'auto' }, texts.greeting),
      this.#entries,
      this.#undo,
      this.#trouble.element,
      this.#suggestions,
    );
    this.element = h(
      'dialog',
      { 'aria-labelledby': 'title' },
      h(
        'div',
        { class: 'head' },
        h('span', { class: 'mark' }, logo ? h('img', { src: logo, alt: '' }) : icon('chat')),
        h('div', { class: 'name' }, title, h('p', { class: 'status' }, h('i'), this.#status)),
        iconButton('restart', texts.restart, 'quiet', startOver),
        iconButton('close', texts.close, 'quiet close-chat', close),
      ),
      h('div', { class: 'middle' }, this.#scroller, this.#latest),
      this.#composer.element,
      ...(notice ? [h('p', { class: 'notice', dir: 'auto' }, notice)] : []),
      this.#announcer.element,
    );
    this.#scroller.addEventListener('scroll', () => this.#noteScroll(), { passive: true });
    this.element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || event.isComposing) return;
      event.preventDefault();
      event.stopPropagation();
      close();
    });
    this.element.addEventListener('cancel', (event) => {
      event.preventDefault();
      close();
    });
    this.#small.addEventListener('change', () => {
      if (!this.element.open || this.inline) return;
      this.element.close();
      this.open();
    });
    this.#fitAboveKeyboard();
    for (const event of ['online', 'offline']) addEventListener(event, () => this.#showStatus());
  }

  /** Shows these questions until the visitor has sent a message. A question may begin with the path of its page. */
  suggest(questions: readonly string[] = this.#questions): void {
    this.#questions = questions;
    this.#suggestions.replaceChildren(
      ...questionsFor(location.pathname, questions).map((words) =>
        button(
          { class: 'secondary', dir: 'auto' },
          () => this.#press(() => this.#actions.send(words)),
          words,
        ),
      ),
    );
  }

  /** Whether the chat covers the page, because the screen is small. */
  get covers(): boolean {
    return this.#small.matches && !this.inline;
  }

  /** Opens the chat. If it covers the page, it is modal, and the page below cannot be reached with the keyboard. */
  open(focus = true): void {
    // The page may have changed its path since.
    this.suggest();
    if (this.covers) this.element.showModal();
    else this.element.show();
    if (focus) this.#composer.focus();
    this.#toEnd();
  }

  close(): void {
    this.element.close();
  }

  /**
   * Shows the state.
   * @param aloud whether to announce new entries to screen readers
   */
  show({ entries, busy, connection, trouble, undoable }: State, aloud: boolean): void {
    const wasAt = this.#following;
    this.#forget(entries);
    for (const [index, entry] of entries.entries())
      this.#showEntry(entry, entries[index - 1]?.at ?? 0, aloud);
    set(this.#suggestions, { hidden: entries.some(({ from }) => from !== 'widget') });
    if (this.#trouble.show(trouble) && trouble && aloud) this.#announcer.say(trouble.text);
    this.#composer.show(busy);
    set(this.#undo, { hidden: !undoable });
    this.#connection = connection;
    this.#showStatus();
    if (wasAt) this.#toEnd();
  }

  #showEntry(entry: Entry, before: number, aloud: boolean): void {
    let view = this.#views.get(entry.id);
    if (view === undefined) {
      const actions: EntryActions = {
        ...this.#entryOptions,
        resend: () => this.#press(() => this.#actions.resend(entry.id)),
        answer: (approve) => this.#press(() => this.#actions.answer(entry.id, approve)),
        say: (words) => this.#announcer.say(words),
      };
      view = new EntryView(entry, this.#texts, actions, before);
      this.#views.set(entry.id, view);
      this.#entries.append(view.element);
      if (entry.from === 'visitor') this.#following = true;
    }
    if (!view.show(entry, aloud) || entry.from === 'visitor') return;
    if (aloud) this.#announcer.grow(entry.id, shownText(entry), isSettled(entry));
    else this.#announcer.skip(entry.id, shownText(entry));
  }

  #forget(entries: readonly Entry[]): void {
    const present = new Set(entries.map(({ id }) => id));
    const gone = [...this.#views].filter(([id]) => !present.has(id));
    if (gone.length === 0) return;
    // The next conversation may be that of another person, who must not hear this one.
    if (gone.length === this.#views.size) this.#announcer.clear();
    for (const [id, view] of gone) {
      view.element.remove();
      this.#views.delete(id);
    }
  }

  /** Shows the status in the header. It is announced only if the connection is lost or restored. */
  #showStatus(): void {
    const name = navigator.onLine ? this.#connection : 'offline';
    const reachable = !['offline', 'away', 'reconnecting'].includes(name);
    const words = this.#texts[name];
    set(this.element, { 'data-connection': reachable ? name : 'off' });
    this.#status.textContent = words;
    if (reachable !== this.#reachable && this.element.open) this.#announcer.say(words);
    this.#reachable = reachable;
  }

  /** A button is pressed. It may disappear then, so the focus moves to the input field. */
  #press(act: () => unknown): void {
    this.#composer.focus();
    act();
  }

  #toEnd(): void {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#noteScroll();
  }

  #noteScroll(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    this.#following = scrollHeight - scrollTop - clientHeight < NEAR_END;
    set(this.#latest, { hidden: this.#following });
  }

  /**
   * Keeps the chat above the on-screen keyboard, which covers part of the page on phones. Only the visual viewport
   * knows how much of the page remains visible.
   */
  #fitAboveKeyboard(): void {
    const view = window.visualViewport;
    view?.addEventListener('resize', () => {
      this.element.style.setProperty('--seen', `${view.height * view.scale}px`);
      if (this.#following) this.#toEnd();
    });
  }
}

function isSettled(entry: Entry): boolean {
  return entry.from !== 'agent' || entry.state !== 'writing';
}

/**
 * The questions for this page. A question such as `/orders/* Where is my order?` is only for the pages with that path,
 * any other one for all pages.
 */
function questionsFor(page: string, questions: readonly string[]): string[] {
  return questions.flatMap((question) => {
    const [, path = page, words = question] = /^(\/\S*)\s+(.+)/s.exec(question) ?? [];
    const fits = path.endsWith('*') ? page.startsWith(path.slice(0, -1)) : page === path;
    return fits ? [words] : [];
  });
}
