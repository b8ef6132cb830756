import type { State } from '../talk/conversation.ts';
import type { Entry } from '../talk/memory.ts';
import type { Texts } from '../texts.ts';
import { Announcer } from './announcer.ts';
import { Composer } from './composer.ts';
import { h, icon, iconButton, set } from './dom.ts';
import { EntryView } from './entry.ts';
import { TroubleView } from './trouble.ts';

export interface PanelActions {
  send(text: string): void;
  stop(): void;
  retry(): void;
  restart(): void;
  close(): void;
}

/** Distance from the end at which the transcript still counts as read to its end, px. */
const NEAR_END = 48;

/** The chat itself: a dialog beside the page, or over all of it where there is little room. */
export class Panel {
  readonly element: HTMLDialogElement;
  readonly #texts: Texts;
  readonly #composer: Composer;
  readonly #trouble: TroubleView;
  readonly #announcer: Announcer;
  readonly #entries = h('ol', { class: 'entries', role: 'list' });
  readonly #suggestions = h('div', { class: 'suggestions' });
  readonly #status = h('span', { class: 'words' });
  readonly #scroller: HTMLElement;
  readonly #latest: HTMLButtonElement;
  readonly #views = new Map<number, EntryView>();
  #following = true;
  #small = matchMedia('(max-width: 32em), (max-height: 30em)');

  constructor(texts: Texts, suggestions: readonly string[], actions: PanelActions) {
    this.#texts = texts;
    this.#composer = new Composer(texts, actions);
    this.#trouble = new TroubleView(texts, {
      // The button goes away with the trouble, so the focus is handed on.
      retry: () => {
        this.#composer.focus();
        actions.retry();
      },
      restart: () => this.#restart(actions),
    });
    this.#announcer = new Announcer(texts.conversation);
    this.#latest = iconButton('down', texts.latest, 'latest');
    const title = h('h2', { id: 'title', dir: 'auto' }, texts.title);
    const restart = iconButton('restart', texts.restart, 'quiet');
    const close = iconButton('close', texts.close, 'quiet');
    for (const words of suggestions) {
      const button = h('button', { type: 'button', dir: 'auto' }, words);
      button.addEventListener('click', () => {
        this.#composer.focus();
        actions.send(words);
      });
      this.#suggestions.append(button);
    }
    this.#scroller = h(
      'div',
      { class: 'transcript', role: 'group', 'aria-label': texts.conversation, tabindex: 0 },
      h('p', { class: 'greeting', dir: 'auto' }, texts.greeting),
      this.#entries,
      this.#trouble.element,
      this.#suggestions,
    );
    this.element = h(
      'dialog',
      { 'aria-labelledby': 'title' },
      h(
        'header',
        {},
        h('span', { class: 'mark' }, icon('chat')),
        h('div', { class: 'name' }, title, h('p', { class: 'status' }, h('i'), this.#status)),
        restart,
        close,
      ),
      h('div', { class: 'middle' }, this.#scroller, this.#latest),
      this.#composer.element,
      this.#announcer.element,
    );
    restart.addEventListener('click', () => this.#restart(actions));
    close.addEventListener('click', () => actions.close());
    this.#latest.addEventListener('click', () => {
      this.#toEnd();
      this.#composer.focus();
    });
    this.#scroller.addEventListener('scroll', () => this.#noteScroll(), { passive: true });
    this.element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || event.isComposing) return;
      event.preventDefault();
      event.stopPropagation();
      actions.close();
    });
    this.element.addEventListener('cancel', (event) => {
      event.preventDefault();
      actions.close();
    });
    this.#small.addEventListener('change', () => {
      if (!this.element.open) return;
      this.element.close();
      this.open();
    });
    this.#fitAboveKeyboard();
    for (const event of ['online', 'offline']) addEventListener(event, () => this.#showStatus(false));
  }

  /** There is little room: the chat covers the page. */
  get covers(): boolean {
    return this.#small.matches;
  }

  /** Over the whole page it is modal: what lies below cannot be reached by keyboard either. */
  open(): void {
    if (this.covers) this.element.showModal();
    else this.element.show();
    this.#composer.focus();
    this.#toEnd();
  }

  close(): void {
    this.element.close();
  }

  /** Shows the state. @param aloud what is new is told to people who hear the page */
  show({ entries, busy, reconnecting, trouble }: State, aloud: boolean): void {
    const wasAt = this.#following;
    for (const entry of entries) this.#showEntry(entry, aloud);
    this.#forget(entries);
    set(this.#suggestions, { hidden: entries.some(({ from }) => from !== 'widget') });
    if (this.#trouble.show(trouble) && trouble && aloud) this.#announcer.say(trouble.text);
    this.#composer.show(busy);
    this.#showStatus(reconnecting);
    if (wasAt) this.#toEnd();
  }

  #restart(actions: PanelActions): void {
    actions.restart();
    this.#composer.focus();
  }

  #showEntry(entry: Entry, aloud: boolean): void {
    let view = this.#views.get(entry.id);
    if (view === undefined) {
      view = new EntryView(entry, this.#texts);
      this.#views.set(entry.id, view);
      this.#entries.append(view.element);
      if (entry.from === 'visitor') this.#following = true;
    } else if (isSettled(entry) && view.element.dataset.settled) return;
    view.show(entry);
    if (isSettled(entry)) view.element.dataset.settled = 'yes';
    if (entry.from === 'visitor') return;
    if (aloud) this.#announcer.grow(entry.id, entry.text, isSettled(entry));
    else this.#announcer.skip(entry.id, entry.text);
  }

  #forget(entries: readonly Entry[]): void {
    if (this.#views.size === entries.length) return;
    const present = new Set(entries.map(({ id }) => id));
    for (const [id, view] of this.#views) {
      if (present.has(id)) continue;
      view.element.remove();
      this.#views.delete(id);
    }
  }

  #showStatus(reconnecting: boolean): void {
    const { online, offline, reconnecting: again } = this.#texts;
    const words = !navigator.onLine ? offline : reconnecting ? again : online;
    set(this.element, { 'data-connection': words === online ? 'on' : 'off' });
    if (this.#status.textContent === words) return;
    const first = this.#status.textContent === '';
    this.#status.textContent = words;
    if (!first && this.element.open) this.#announcer.say(words);
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

  /** On phones the keyboard lies over the page; only the visual viewport knows how much of it is left. */
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
