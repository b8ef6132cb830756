import { jsonObject } from '../../../../src/channel/json-object.ts';
import { hash } from './hash.ts';

/** A token is renewed when less than this time remains, in ms (agentd-webchat(7)). */
const RENEW_BEFORE_MS = 5 * 60 * 1000;
/** How long the site may take to return a token, in ms. */
const ANSWER_WITHIN_MS = 10_000;

/** Asks the site for the token of the person who is signed in. Null if nobody is signed in. */
export type AskForToken = () => Promise<string | null | undefined> | string | null | undefined;

/**
 * Identifies the person of a token by issuer, tenant and subject, as one string. It is stored with the conversation, so
 * of a token that names nobody it has a hash.
 */
export function identifyPerson(token: string | null): string | null {
  if (token === null) return null;
  const { iss = '', tenant_id = '', sub = hash(token) } = decodeClaims(token);
  return JSON.stringify([iss, tenant_id, sub]);
}

/** The name of the person of a token, for the person to read: `name`, else `email`. Null if there is none. */
export function readName(token: string | null): string | null {
  const { name, email } = token === null ? {} : (decodeClaims(token) as Readonly<Record<string, unknown>>);
  const found = typeof name === 'string' && name.trim() !== '' ? name : email;
  return typeof found === 'string' ? found : null;
}

/** When a token expires, in ms since the epoch. To the widget, a token without `exp` never expires. */
export function readExpiry(token: string): number {
  const { exp } = decodeClaims(token);
  return typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY;
}

/**
 * Reads the claims without validation: the service validates tokens. The widget only needs to know when to renew the
 * token, and whether the person has changed.
 */
function decodeClaims(token: string): Readonly<Record<string, unknown>> {
  try {
    const payload = token.split('.')[1] ?? '';
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (one) =>
      one.charCodeAt(0),
    );
    return jsonObject(new TextDecoder().decode(bytes));
  } catch {
    // The payload is not base64url. The token is sent unchanged, and the service validates it.
    return {};
  }
}

/** The user token of the site, which is renewed in time. It is stored in memory only. */
export class TokenSource {
  readonly #ask: AskForToken | undefined;
  #token: string | null;
  #asked = false;
  #asking: Promise<string | null> | null = null;

  /** @param given a token in the page itself. Without `ask`, it is the only token. */
  constructor(ask: AskForToken | undefined, given: string | null) {
    this.#ask = ask;
    this.#token = given;
    this.#asked = ask === undefined || given !== null;
  }

  /** Whether the site has said who is signed in. */
  get isKnown(): boolean {
    return this.#asked;
  }

  /**
   * Returns the token to send now; null if nobody is signed in. Asks the site for the first token, unless the page
   * contains it, and again when less than five minutes remain. If the site cannot answer, the old token stays in use,
   * because it may still be valid for some minutes.
   */
  async current(): Promise<string | null> {
    const remains = this.#token === null || readExpiry(this.#token) - Date.now() > RENEW_BEFORE_MS;
    if (this.#asked && remains) return this.#token;
    return this.renew();
  }

  /** Asks the site again: somebody may have signed in or out. Never rejects. */
  async renew(): Promise<string | null> {
    if (this.#ask === undefined) return this.#token;
    this.#asking ??= this.#answer(this.#ask).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #answer(ask: AskForToken): Promise<string | null> {
    try {
      const answer = await within(ANSWER_WITHIN_MS, Promise.resolve(ask()));
      this.#token = typeof answer === 'string' && answer !== '' ? answer : null;
      this.#asked = true;
    } catch (error) {
      console.warn('agentd: the page did not report who is signed in', error);
    }
    return this.#token;
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = wait(ms).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  return Promise.race([work, late]);
}

/** Resolves after this many milliseconds. */
export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
