import { jsonObject } from '../../../../src/channel/json-object.ts';
import { passed } from './passed.ts';

/** Remaining lifetime at which a token is renewed, ms (agentd-webchat(7)). */
const RENEW_BEFORE_MS = 5 * 60 * 1000;
/** How long the site may take to answer, ms. */
const ANSWER_WITHIN_MS = 10_000;

/** Asks the site for the token of the person who is signed in; null if there is none. */
export type AskForToken = () => Promise<string | null | undefined> | string | null | undefined;

/** The person of a token as one string: issuer, tenant and subject. */
export function personOf(token: string | null): string | null {
  if (token === null) return null;
  const { iss = '', tenant_id = '', sub = token } = claimsOf(token);
  return JSON.stringify([iss, tenant_id, sub]);
}

/** When a token expires, ms since the epoch. A token without expiry never expires for the widget. */
export function expiryOf(token: string): number {
  const { exp } = claimsOf(token);
  return typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY;
}

/**
 * The service validates tokens. Here the claims only show when to renew the token, and whether the person has changed.
 */
function claimsOf(token: string): Readonly<Record<string, unknown>> {
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

/** The user token of the site, renewed in time. Stored in memory only. */
export class TokenSource {
  readonly #ask: AskForToken | undefined;
  #token: string | null;
  #asked = false;
  #asking: Promise<string | null> | null = null;

  /** @param given a token in the page itself; if there is no `ask`, it is the only token */
  constructor(ask: AskForToken | undefined, given: string | null) {
    this.#ask = ask;
    this.#token = given;
    this.#asked = ask === undefined || given !== null;
  }

  /**
   * The token to send now; null if nobody is signed in. It asks the site for the first token, and again when less
   * than five minutes remain. If the site cannot answer, the old token stays in use: it may still be valid for some
   * minutes.
   */
  async current(): Promise<string | null> {
    const remains = this.#token === null || expiryOf(this.#token) - Date.now() > RENEW_BEFORE_MS;
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
      console.warn('agentd: the page could not say who is signed in', error);
    }
    return this.#token;
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = passed(ms).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  return Promise.race([work, late]);
}
