import { personOf, type TokenSource } from '../talk/token.ts';
import { button, h } from '../view/dom.ts';
import type { Options } from '../widget.ts';
import { type Chat, type CodeState, Codes, type MadeCode } from './codes.ts';
import { qrCode } from './qr.ts';
import style from './style.css';
import { CONTINUE_ENGLISH, type ContinueTexts } from './texts.ts';

/** The daemon replaces it with the texts in each language. */
const TEXTS = 'agentd-continue-texts' as unknown as Readonly<Record<string, ContinueTexts>>;

/** The names that people know. A channel of an operator has its own name. */
const NAMES: Readonly<Record<string, string>> = {
  teamchat: 'Slack',
  phonechat: 'WhatsApp',
  msgbot: 'Telegram',
};

const sheet = new CSSStyleSheet();

/** How often the state of a code is asked for, ms. */
const ASK_MS = 2000;

/** The offers, by the person to whom they were made. Calls that overlap show one of them. */
const offers = new WeakMap<ShadowRoot, { person: string | null; place: HTMLElement }>();

/**
 * Offers a signed-in person to continue the conversation on a chat platform: a code, the chat that has claimed it, and
 * the person's confirmation. Also shows the connected chats, and disconnects them. Called again when the chat is opened,
 * and when somebody has signed in or out: then the offer of another person disappears.
 * @param root contains the chat; nothing is shown if nobody is signed in, or if no channel takes codes
 */
export async function offerChats(
  root: ShadowRoot,
  { base, language }: Pick<Options, 'base' | 'language'>,
  tokens: Pick<TokenSource, 'current'>,
): Promise<void> {
  const person = personOf(await tokens.current());
  const before = offers.get(root);
  if (before?.person === person) return;
  before?.place.remove();
  const place = h('div', { class: 'continue' });
  offers.set(root, { person, place });
  if (person === null) return;
  // After somebody else has signed in, this offer must not use the other token.
  const codes = new Codes(base, async () => {
    const token = await tokens.current();
    if (personOf(token) !== person) throw new Error('somebody else is signed in');
    return token;
  });
  const found = await codes.links().catch((error: unknown) => {
    console.warn('agentd: other chats cannot be offered', error);
    offers.delete(root);
  });
  if (!found) return;
  const { channels, links } = found;
  if (channels.length === 0 || offers.get(root)?.place !== place) return;
  sheet.replaceSync(style);
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  place.append(new Offer(codes, textsIn(language), channels, links).element);
  root.querySelector('dialog')?.append(place);
}

function textsIn(language: string): ContinueTexts {
  return TEXTS[language] ?? TEXTS[language.slice(0, 2)] ?? CONTINUE_ENGLISH;
}

class Offer {
  readonly element: HTMLElement;
  readonly #codes: Codes;
  readonly #texts: ContinueTexts;
  readonly #connected = h('ul');
  readonly #code = h('div', { role: 'status' });

  constructor(
    codes: Codes,
    texts: ContinueTexts,
    channels: readonly string[],
    links: readonly (Chat & { id: string })[],
  ) {
    this.#codes = codes;
    this.#texts = texts;
    const names = channels.map(nameOf).join(', ');
    this.element = h(
      'details',
      {},
      h('summary', { dir: 'auto' }, texts.offer.replace('{channels}', names)),
      this.#connected,
      this.#code,
    );
    this.#showLinks(links);
    this.#begin();
  }

  #begin(...before: (Node | string)[]): void {
    const { connect } = this.#texts;
    this.#code.replaceChildren(
      ...before,
      this.#button(connect, () => this.#connect()),
    );
  }

  async #connect(): Promise<void> {
    const made = await this.#codes.make();
    this.#showCode(made);
    let before: CodeState['state'] = 'waiting';
    while (before === 'waiting' || before === 'claimed') {
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
      if (!this.element.isConnected) return;
      const found = await this.#codes.find(made.id);
      if (found.state === 'claimed' && before !== 'claimed') this.#askPerson(made, found);
      before = found.state;
    }
    this.#begin(h('p', {}, before === 'used' ? this.#texts.done : this.#texts.ended));
    this.#showLinks((await this.#codes.links()).links);
  }

  #showCode({ code, channels }: MadeCode): void {
    const { send, open, scan } = this.#texts;
    const places = Object.entries(channels).flatMap(([channel, { url }]) => {
      if (url === undefined || !/^https:\/\//.test(url)) return [];
      const name = nameOf(channel);
      return [
        h(
          'a',
          { href: url, target: '_blank', rel: 'noopener noreferrer' },
          qrCode(url, scan.replace('{channel}', name)),
          open.replace('{channel}', name),
        ),
      ];
    });
    this.#code.replaceChildren(
      h('p', { dir: 'auto' }, send),
      h('p', { class: 'code' }, code),
      h('div', { class: 'places' }, ...places),
    );
  }

  /** The person must see who has claimed the code before they can confirm. */
  #askPerson({ id }: MadeCode, chat: Chat): void {
    const { claimed, yes, no, answer } = this.#texts;
    this.#code.replaceChildren(
      h('p', { dir: 'auto' }, claimed),
      h('p', {}, ...chatInWords(chat)),
      this.#button(yes, async () => {
        await this.#codes.confirm(id);
        this.#code.replaceChildren(h('p', { dir: 'auto' }, answer));
      }),
      this.#button(no, () => this.#codes.end(id)),
    );
  }

  #showLinks(links: readonly (Chat & { id: string })[]): void {
    const { connected, disconnect } = this.#texts;
    const end = (id: string) => async () => {
      await this.#codes.endLink(id);
      this.#showLinks((await this.#codes.links()).links);
    };
    this.#connected.replaceChildren(
      ...links.map((link) =>
        h('li', {}, `${connected} `, ...chatInWords(link), ' ', this.#button(disconnect, end(link.id))),
      ),
    );
  }

  /** A button that cannot be pressed twice. If its work fails, the person is told. */
  #button(label: string, work: () => Promise<unknown>): HTMLButtonElement {
    const made = button(
      {},
      () => {
        made.disabled = true;
        work().catch((error: unknown) => {
          console.warn('agentd: a chat could not be connected', error);
          this.#begin(h('p', { dir: 'auto' }, this.#texts.failed));
        });
      },
      label,
    );
    return made;
  }
}

/** Names come from the platform, and may have any direction of writing. */
function chatInWords({ channel = '', masked_id = '', name }: Chat): (Node | string)[] {
  return [`${nameOf(channel)}: `, ...(name ? [h('bdi', {}, name), ', '] : []), h('bdi', {}, masked_id)];
}

function nameOf(channel: string): string {
  return NAMES[channel] ?? channel;
}
