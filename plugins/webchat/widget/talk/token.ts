import { jsonObject } from '../../../../src/channel/json-object.ts';
import { passed } from './passed.ts';

/** Renewed when less than this remains (service.md, "Token lifetime and refresh"), ms. */
const RENEW_BEFORE_MS = 5 * 60 * 1000;
/** How long the site has to answer, ms. */
const ANSWER_WITHIN_MS = 10_000;

/** Asks the site who is signed in: a token, or null for nobody. */
export type AskForToken = () => Promise<string | null | undefined> | string | null | undefined;

/** The person whom a token names, as one string: issuer, tenant and subject together. */
export function personOf(token: string | null): string | null {
  if (token === null) return null;
  const { iss = '', tenant_id = '', sub = token } = claimsOf(token);
  return JSON.stringify([iss, tenant_id, sub]);
}

/** When a token expires, ms since the epoch; one that does not tell never does, as far as the widget knows. */
export function expiryOf(token: string): number {
  const { exp } = claimsOf(token);
  return typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY;
}

/** The service validates; here the claims only tell when to renew, and that somebody else has signed in. */
function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const payload = token.split('.')[1] ?? '';
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (one) =>
      one.charCodeAt(0),
    );
    return jsonObject(new TextDecoder().decode(bytes));
  } catch {
    // Not base64url. The token is sent unchanged, and the service validates it.
    return {};
  }
}

/** The user's token as the site gives it, renewed in time. Kept in memory only. */
export class TokenSource {
  readonly #ask: AskForToken | undefined;
  #token: string | null;
  #asked = false;
  #asking: Promise<string | null> | null = null;

  /** @param given a token that the page itself holds; without `ask` it is all that there ever is */
  constructor(ask: AskForToken | undefined, given: string | null) {
    this.#ask = ask;
    this.#token = given;
    this.#asked = ask === undefined || given !== null;
  }

  /**
   * The token to send now; null: nobody is signed in. Asks the site at first and when less than five minutes
   * remain. A site that cannot answer leaves the earlier token in use: it may have some minutes left.
   */
  async current(): Promise<string | null> {
    const remains = this.#token === null || expiryOf(this.#token) - Date.now() > RENEW_BEFORE_MS;
    if (this.#asked && remains) return this.#token;
    return this.renew();
  }

  /** Asks the site anew: somebody may have signed in or out. Rejects never. */
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
