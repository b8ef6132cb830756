import { button, h, icon, iconButton, set } from '../view/dom.ts';
import type { LoadPart } from '../view/parts.ts';
import type { Chat, CodeState, Codes, Link, Links, MadeCode } from './codes.ts';
import type { ContinueTexts } from './texts.ts';

/** How often the state of a code is asked for, ms. */
const ASK_MS = 2000;

interface SheetParts extends Links {
  chat: HTMLElement;
  codes: Codes;
  texts: ContinueTexts;
  /** The language of the texts. */
  language: string;
  load: LoadPart;
}

/**
 * The sheet over the chat in which a person connects a chat of a platform: the code, the chat that has claimed it, and
 * the person's confirmation. Also lists the connected chats, and disconnects them.
 */
export class Sheet {
  readonly #parts: SheetParts;
  readonly #element: HTMLElement;
  readonly #code = h('div', { class: 'code', role: 'status' });
  readonly #links = h('ul', { class: 'links' });
  #isConnected = false;
  #opener: HTMLElement | null = null;

  constructor(parts: SheetParts) {
    this.#parts = parts;
    const { texts, language, links } = parts;
    const title = h('h2', { id: 'continue', tabindex: -1 }, formatTitle(texts, parts, language));
    this.#element = h(
      'section',
      { class: 'sheet', 'aria-labelledby': 'continue' },
      h(
        'header',
        {},
        title,
        iconButton('close', texts.close, 'quiet', () => this.close()),
      ),
      this.#code,
      this.#links,
    );
    this.#element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      // The key closes only the sheet, not the chat below it.
      event.stopPropagation();
      event.preventDefault();
      this.close();
    });
    this.#showLinks(links);
    this.#begin();
  }

  /** @param opener gets the focus when the sheet is closed */
  open(opener: HTMLElement): void {
    this.#opener = opener;
    this.#cover(true);
    this.#parts.chat.append(this.#element);
    this.#focus();
  }

  close(): void {
    if (!this.#element.isConnected) return;
    this.#element.remove();
    this.#cover(false);
    this.#opener?.focus();
  }

  /** While the sheet is open, the chat below it cannot be reached. */
  #cover(covered: boolean): void {
    for (const part of this.#parts.chat.children)
      if (!part.matches('.heard, .sheet')) set(part, { inert: covered });
  }

  #focus(): void {
    this.#element.querySelector('h2')?.focus({ preventScroll: true });
  }

  /** Shows a step. The focus would be lost with the button that was pressed. */
  #show(...step: (Node | string)[]): void {
    const hadFocus = this.#element.matches(':focus-within');
    this.#code.replaceChildren(...step);
    if (hadFocus) this.#focus();
  }

  /** With a connected chat, another one is no longer the main thing to do. */
  #begin(...before: Node[]): void {
    const { connect, another, about } = this.#parts.texts;
    const first = before.length > 0 ? before : [words(about)];
    const [kind, label] = this.#isConnected ? ['secondary', another] : ['primary', connect];
    this.#show(
      ...first,
      this.#button(kind, label, () => this.#connect()),
    );
  }

  async #connect(): Promise<void> {
    const { codes, texts } = this.#parts;
    const made = await codes.make();
    await this.#showCode(made);
    let before: CodeState['state'] = 'waiting';
    while (before === 'waiting' || before === 'claimed') {
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
      // The person may have closed the sheet to write in the chat. They may also have left the page of the chat.
      if (!this.#parts.chat.isConnected) return;
      const found = await codes.find(made.id);
      if (found.state === 'claimed' && before !== 'claimed') this.#askPerson(made, found);
      before = found.state;
    }
    const isDone = before === 'used';
    this.#showLinks((await codes.links()).links);
    this.#begin(result(isDone, isDone ? texts.done : texts.ended));
  }

  async #showCode({ code, channels, expires_at = '' }: MadeCode): Promise<void> {
    const { texts, load, language } = this.#parts;
    const { qrCode } = await load('qr');
    const places = Object.entries(channels).flatMap(([channel, { url }]) => {
      if (url === undefined || !/^https:\/\//.test(url)) return [];
      const name = this.#nameOf(channel);
      return h(
        'a',
        { class: 'secondary', href: url, target: '_blank', rel: 'noopener noreferrer' },
        qrCode(url, texts.scan.replace('{channel}', name)),
        h('span', {}, texts.open.replace('{channel}', name)),
      );
    });
    this.#show(
      words(texts.send),
      h('div', { class: 'letters' }, h('p', { dir: 'ltr' }, code), ...this.#copy(code)),
      ...(places.length > 0 ? [h('div', { class: 'places' }, ...places)] : []),
      waiting(texts.waiting, untilWhen(expires_at, texts, language)),
    );
  }

  /** A button that copies the code, for people who have the other chat on the same device. */
  #copy(code: string): HTMLElement[] {
    if (!navigator.clipboard) return [];
    const { copy, copied } = this.#parts.texts;
    const made = iconButton('copy', copy, 'quiet', async () => {
      await navigator.clipboard.writeText(code);
      made.replaceChildren(icon('check'));
      set(made, { 'aria-label': copied, title: copied });
    });
    return [made];
  }

  /** The person must see who has claimed the code before they can confirm. */
  #askPerson({ id }: MadeCode, chat: Chat): void {
    const { codes, texts } = this.#parts;
    const { claimed, yes, no, answer } = texts;
    this.#show(
      h('p', { class: 'asks' }, claimed),
      this.#chatLine(chat),
      h(
        'div',
        { class: 'choice' },
        this.#button('primary', yes, async () => {
          await codes.confirm(id);
          this.#show(waiting(answer));
        }),
        this.#button('secondary', no, () => codes.end(id)),
      ),
    );
  }

  #showLinks(links: readonly Link[]): void {
    const { codes, texts } = this.#parts;
    this.#isConnected = links.length > 0;
    const end = (id: string) => async () => {
      await codes.endLink(id);
      this.#showLinks((await codes.links()).links);
      this.#focus();
    };
    const { connected, disconnect } = texts;
    this.#links.replaceChildren(
      ...(links.length > 0 ? [h('li', {}, h('h3', {}, connected))] : []),
      ...links.map((link) =>
        h('li', {}, this.#chatLine(link), this.#button('again', disconnect, end(link.id))),
      ),
    );
  }

  /** Names come from the platform, and may have any direction of writing. */
  #chatLine({ channel = '', masked_id = '', name }: Chat): HTMLElement {
    const who = [...(name ? [h('bdi', {}, name), ', '] : []), h('bdi', {}, masked_id)];
    return h('p', { class: 'who' }, h('b', {}, this.#nameOf(channel)), ' ', h('span', {}, ...who));
  }

  #nameOf(channel: string): string {
    return this.#parts.titles[channel] ?? channel;
  }

  /** A button that cannot be pressed twice. If its work fails, the person is told. */
  #button(kind: string, label: string, work: () => Promise<unknown>): HTMLButtonElement {
    const made = button(
      { class: kind },
      () => {
        made.disabled = true;
        work().catch((error: unknown) => {
          console.warn('agentd: a chat could not be connected', error);
          this.#begin(result(false, this.#parts.texts.failed));
        });
      },
      label,
    );
    return made;
  }
}

/** What the sheet and its button are called. */
export function formatTitle({ offer }: ContinueTexts, { channels, titles }: Links, language: string): string {
  const names = channels.map((channel) => titles[channel] ?? channel);
  return offer.replace('{channels}', listOf(names, language));
}

/** The names with “or” before the last one. The site may name a language that is no valid tag. */
function listOf(names: readonly string[], language: string): string {
  try {
    return new Intl.ListFormat(language, { type: 'disjunction' }).format(names);
  } catch {
    return names.join(', ');
  }
}

function words(text: string): HTMLElement {
  return h('p', { dir: 'auto' }, text);
}

/** @param until how long, if this is limited */
function waiting(text: string, until = ''): HTMLElement {
  const spoken = h('bdi', {}, text, ...(until === '' ? [] : [' ', until]));
  return h('p', { class: 'state' }, h('i', { class: 'spinner' }), h('span', {}, spoken));
}

/** When the code expires, in the time of the person. Empty if this is not known. */
function untilWhen(expires_at: string, { until }: ContinueTexts, language: string): string {
  const at = new Date(expires_at);
  if (Number.isNaN(at.getTime())) return '';
  const format = (tag: string | []) => at.toLocaleTimeString(tag, { timeStyle: 'short' });
  try {
    return until.replace('{time}', format(language));
  } catch {
    // The site may name a language that is no valid tag.
    return until.replace('{time}', format([]));
  }
}

function result(isGood: boolean, text: string): HTMLElement {
  return h(
    'p',
    { class: `state ${isGood ? 'good' : 'bad'}` },
    icon(isGood ? 'check' : 'warning'),
    h('bdi', {}, text),
  );
}
