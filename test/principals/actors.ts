import type { Poster, Reader } from './histories.ts';
import { EVERYBODY, makeToken, type SignOut, type Token, type TokenKind, type Who } from './tokens.ts';
import { ALLOWED_ORIGIN } from './world.ts';

/** How a browser or a program sends a request of one kind. */
interface Manner {
  /** Headers with which browsers describe a request (Fetch Metadata). Old browsers do not send them. */
  headers: Readonly<Record<string, string>>;
  /**
   * Whether the request has the cookie. The cookie is `SameSite=Lax`: the browser sends it with requests from the same
   * site, and when it follows a link.
   */
  hasCookie: boolean;
  /**
   * Whether the service must refuse the request, whatever else it contains. `with-cookie` means only if it has a
   * cookie.
   */
  isForeign: boolean | 'with-cookie';
}

const EVENTS = { Accept: 'text/event-stream' };
const PAGE = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const IMAGE = { Accept: 'image/avif,image/webp,*/*;q=0.8' };

function metadata(site: string, mode: string, dest: string): Record<string, string> {
  return { 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': mode, 'Sec-Fetch-Dest': dest };
}

/**
 * The service is at chat.example.com. The hosts shop.example.com and evil.example.com are on the same site. Other hosts
 * are not.
 */
export const READING: Readonly<Record<Reader, Manner>> = {
  'event-source': {
    headers: { ...EVENTS, ...metadata('same-origin', 'cors', 'empty') },
    hasCookie: true,
    isForeign: false,
  },
  'shop-page': {
    headers: { ...EVENTS, Origin: ALLOWED_ORIGIN, ...metadata('same-site', 'cors', 'empty') },
    hasCookie: true,
    isForeign: false,
  },
  // This page is on an allowed origin but on another site, so the browser does not send the cookie.
  'shop-page-elsewhere': {
    headers: { ...EVENTS, Origin: ALLOWED_ORIGIN, ...metadata('cross-site', 'cors', 'empty') },
    hasCookie: false,
    isForeign: false,
  },
  'sibling-page': {
    headers: { ...EVENTS, Origin: 'https://evil.example.com', ...metadata('same-site', 'cors', 'empty') },
    hasCookie: true,
    isForeign: true,
  },
  'foreign-page': {
    headers: { ...EVENTS, Origin: 'https://evil.example', ...metadata('cross-site', 'cors', 'empty') },
    hasCookie: false,
    isForeign: true,
  },
  'foreign-image': {
    headers: { ...IMAGE, ...metadata('cross-site', 'no-cors', 'image') },
    hasCookie: false,
    isForeign: true,
  },
  'sibling-image': {
    headers: { ...IMAGE, ...metadata('same-site', 'no-cors', 'image') },
    hasCookie: true,
    isForeign: true,
  },
  link: {
    headers: { ...PAGE, ...metadata('cross-site', 'navigate', 'document') },
    hasCookie: true,
    isForeign: true,
  },
  typed: {
    headers: { ...PAGE, ...metadata('none', 'navigate', 'document') },
    hasCookie: true,
    isForeign: true,
  },
  frame: {
    headers: { ...PAGE, ...metadata('cross-site', 'navigate', 'iframe') },
    hasCookie: false,
    isForeign: true,
  },
  // Browsers that do not send Fetch Metadata.
  'old-link': { headers: PAGE, hasCookie: true, isForeign: 'with-cookie' },
  // An old browser that also does not know `SameSite`.
  'old-image': { headers: IMAGE, hasCookie: true, isForeign: false },
  curl: { headers: {}, hasCookie: false, isForeign: false },
  'curl-with-cookie': { headers: EVENTS, hasCookie: true, isForeign: false },
};

export const POSTING: Readonly<Record<Poster, Manner>> = {
  page: {
    headers: { Origin: 'https://chat.example.com', ...metadata('same-origin', 'cors', 'empty') },
    hasCookie: true,
    isForeign: false,
  },
  shop: {
    headers: { Origin: ALLOWED_ORIGIN, ...metadata('same-site', 'cors', 'empty') },
    hasCookie: true,
    isForeign: false,
  },
  curl: { headers: {}, hasCookie: false, isForeign: false },
};

/** The parts of a message with an Idempotency-Key that a client keeps in order to send the message again. */
interface KeyedMessage {
  key: string;
  user: string;
  named: string | null;
  text: string;
  mark: string;
  fails: boolean;
}

/** A link code of a person, which others may have learned. */
export interface KnownCode {
  id: string;
  code: string;
}

/** One of the people, with a browser, a program, and all ids that they know. */
export class Actor {
  readonly who: Who;
  readonly address: string;
  /** The `user_id` on the web channels. */
  readonly user: string;
  readonly sessions: string[] = [];
  readonly streams: string[] = [];
  readonly codes: KnownCode[] = [];
  /** Ids of links, as the site lists them. */
  readonly links: string[] = [];
  /** Logout tokens that the site has sent. */
  readonly logouts: { text: string; signOut: SignOut }[] = [];
  keyed: KeyedMessage | null = null;
  /** The `jwt_token` cookies of the browser, with the hour at which each of them expires. */
  cookies: { token: Token; ends: number; isPlanted: boolean }[] = [];
  readonly #history: number;
  readonly #issuedAt: () => number;
  readonly #tokens = new Map<TokenKind, Token>();

  /** @param issuedAt returns the `iat` of the next token */
  constructor(history: number, who: Who, issuedAt: () => number) {
    this.#history = history;
    this.#issuedAt = issuedAt;
    this.who = who;
    this.user = `${who}-${history}`;
    const host = numberOf(history, who);
    this.address = `10.${(host >> 16) & 255}.${(host >> 8) & 255}.${host & 255}`;
  }

  /**
   * Returns the actor's token of this kind. It is always the same token, even after it has expired, except for `anew`.
   */
  token(kind: TokenKind, hour: number): Token {
    let token = kind === 'anew' ? undefined : this.#tokens.get(kind);
    if (!token) {
      token = makeToken(this.#history, this.who, kind, hour, this.#issuedAt());
      this.#tokens.set(kind, token);
    }
    return token;
  }

  /** The tokens in the cookies that have not expired at this hour. */
  cookiesAt(hour: number): Token[] {
    return this.cookies.filter(({ ends }) => ends > hour).map(({ token }) => token);
  }

  /** Applies a `Set-Cookie` header. A cookie that was planted under another path or domain is kept. */
  takeCookie(header: string, hour: number): void {
    const [, text = ''] = /^jwt_token=([^;]*)/.exec(header) ?? [];
    const token = [...this.#tokens.values()].find((one) => one.text === text);
    this.cookies = this.cookies.filter(({ isPlanted }) => isPlanted);
    if (token) this.cookies.unshift({ token, ends: hour + 1, isPlanted: false });
  }

  learnSession(id: string): void {
    learn(this.sessions, id);
  }

  learnStream(id: string): void {
    learn(this.streams, id);
  }
}

/** A number that no other person of any history has. */
export function numberOf(history: number, who: Who): number {
  return history * EVERYBODY.length + EVERYBODY.indexOf(who);
}

/** Adds an id, or moves it to the end, so that the last id is always the latest. */
function learn(ids: string[], id: string): void {
  const at = ids.indexOf(id);
  if (at >= 0) ids.splice(at, 1);
  ids.push(id);
}
