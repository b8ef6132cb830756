import type { Options } from '../options.ts';
import { identifyPerson, type TokenSource } from '../talk/token.ts';
import { button, drawing } from '../view/dom.ts';
import { addStyle } from '../view/part-style.ts';
import type { LoadPart } from '../view/parts.ts';
import { Codes } from './codes.ts';
import { formatTitle, Sheet } from './sheet.ts';
import style from './style.css';
import { CONTINUE_ENGLISH, type ContinueTexts } from './texts.ts';

/** The daemon replaces it with the texts in each language. */
const TEXTS = 'agentd-continue-texts' as unknown as Readonly<Record<string, ContinueTexts>>;

/** Two chats. */
const SHARE = 'M4.5 11V5.5h11v3M4.5 8v9.5l3-2.5M10 11.5h9.5v7H14l-2.5 2v-2H10z';

interface Offer {
  person: string | null;
  /** Removes the offer from the chat. */
  withdraw(): void;
}

/** The offers, by the person to whom they were made. Calls that overlap show one of them. */
const offers = new WeakMap<ShadowRoot, Offer>();

/**
 * Offers a signed-in person to continue the conversation on a chat platform: a button in the header of the chat, which
 * opens a sheet. Called again when the chat is opened, and when somebody has signed in or out: then the offer of another
 * person disappears.
 * @param root contains the chat; nothing is shown if nobody is signed in, or if no channel takes codes
 */
export async function offerChats(
  root: ShadowRoot,
  { base, language }: Pick<Options, 'base' | 'language'>,
  tokens: Pick<TokenSource, 'current'>,
  load: LoadPart,
): Promise<void> {
  const person = identifyPerson(await tokens.current());
  const before = offers.get(root);
  if (before?.person === person) return;
  before?.withdraw();
  const offer: Offer = { person, withdraw: () => undefined };
  offers.set(root, offer);
  if (person === null) return;
  // After somebody else has signed in, this offer must not use the other token.
  const codes = new Codes(base, async () => {
    const token = await tokens.current();
    if (identifyPerson(token) !== person) throw new Error('somebody else is signed in');
    return token;
  });
  const found = await codes.links().catch((error: unknown) => {
    console.warn('agentd: other chats cannot be offered', error);
    offers.delete(root);
  });
  const chat = root.querySelector('dialog');
  if (!found || !chat || found.channels.length === 0 || offers.get(root) !== offer) return;
  addStyle(chat, style);
  const texts = textsIn(language);
  const sheet = new Sheet({ chat, codes, texts, language, load, ...found });
  const title = formatTitle(texts, found, language);
  const opener = button(
    { class: 'quiet', 'aria-label': title, title },
    () => sheet.open(opener),
    drawing('share', SHARE),
  );
  chat.querySelector('.restart')?.parentElement?.before(opener);
  offer.withdraw = () => {
    opener.remove();
    sheet.close();
  };
}

function textsIn(language: string): ContinueTexts {
  return TEXTS[language] ?? TEXTS[language.slice(0, 2)] ?? CONTINUE_ENGLISH;
}
