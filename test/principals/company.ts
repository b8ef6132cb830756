import { dataMark, deedOutcome, historyOfMark } from './marks.ts';
import {
  emailOf,
  historyOf,
  isCovered,
  originOf,
  type Person,
  type Renewal,
  readBearer,
  renewalOf,
  type SignOut,
} from './tokens.ts';

export const RENEWAL_PATH = '/token';
const SERVICE_TOKEN = 'the-token-of-the-default-credentials';

/** The requests of one history to the business API. */
export interface ApiCalls {
  /** Calls with a person's token, by person. */
  byPerson: Map<Person, number>;
  /** The tokens without a valid person: forged, expired, or with another issuer or audience. */
  refused: string[];
  /** Persons whose token was used after they had signed out at the site. */
  afterSignOut: Person[];
  /** Sign-outs that the service has confirmed. */
  signOuts: SignOut[];
  /** The actions that were carried out, each time. */
  deeds: { mark: string; person: Person }[];
  /** Lines on a platform that name an action, and where people have read them. */
  named: { mark: string; platform: string; to: string; thread: string | null; line: string }[];
  /** How the site renews the tokens of each person; by default, it does. */
  renewals: Map<string, Renewal>;
}

interface ApiAnswer {
  status: number;
  body: object;
}

function answer(status: number, body: object): ApiAnswer {
  return { status, body };
}

/** The business API and the token endpoint of the site. They note whose tokens they get. */
export class Company {
  readonly #calls = new Map<number, ApiCalls>();

  /** Calls of the business API so far in one history. */
  callsOf(history: number): ApiCalls {
    let calls = this.#calls.get(history);
    if (!calls) {
      calls = {
        ...{ byPerson: new Map(), refused: [], afterSignOut: [], signOuts: [], renewals: new Map() },
        ...{ deeds: [], named: [] },
      };
      this.#calls.set(history, calls);
    }
    return calls;
  }

  /** Drops the records of a history that has ended. */
  forget(history: number): void {
    this.#calls.delete(history);
  }

  /** Answers a request. @param sent its body */
  answer(url: URL, authorization: string, sent: string): ApiAnswer {
    return url.pathname === RENEWAL_PATH
      ? this.#renew(new URLSearchParams(sent).get('subject_token') ?? '')
      : this.#answerAsApi(url, authorization, sent);
  }

  /** Answers as the token endpoint of the site. */
  #renew(token: string): ApiAnswer {
    const holder = readBearer(token);
    if (holder === null) return answer(400, { error: 'invalid_request' });
    const { renewals, signOuts, afterSignOut } = this.callsOf(holder.history);
    if (isCovered(originOf(token), signOuts)) afterSignOut.push(holder.person);
    return renewalOf(token, renewals.get(holder.person) ?? 'issued');
  }

  #carryOut(bearer: string, mark: string): ApiAnswer {
    const holder = readBearer(bearer);
    const calls = this.callsOf(historyOfMark(mark));
    if (holder === null) {
      calls.refused.push(bearer);
      return answer(401, {});
    }
    calls.deeds.push({ mark, person: holder.person });
    if (isCovered(originOf(bearer), calls.signOuts)) calls.afterSignOut.push(holder.person);
    return answer({ done: 200, failed: 409, unknown: 500 }[deedOutcome(mark)], {});
  }

  /** Answers as the business API: it shows each person their own data, and the service account everybody's data. */
  #answerAsApi(url: URL, authorization: string, sent: string): ApiAnswer {
    if (url.pathname === '/authentication_token') return answer(200, { token: SERVICE_TOKEN });
    const bearer = authorization.replace(/^Bearer /, '');
    if (url.pathname === '/orders')
      return this.#carryOut(bearer, (JSON.parse(sent) as { item: string }).item);
    const email = url.searchParams.get('userEmail') ?? '';
    const [, person, number] = /^([a-z]+)(\d+)@/.exec(email) ?? [];
    if (bearer !== SERVICE_TOKEN) {
      const holder = readBearer(bearer);
      const history = historyOf(bearer);
      if (history === null) return answer(401, {});
      const calls = this.callsOf(history);
      if (holder === null) {
        calls.refused.push(bearer);
        return answer(401, {});
      }
      calls.byPerson.set(holder.person, (calls.byPerson.get(holder.person) ?? 0) + 1);
      if (isCovered(originOf(bearer), calls.signOuts)) calls.afterSignOut.push(holder.person);
      if (email !== emailOf(holder.history, holder.person)) return answer(403, {});
    }
    return answer(200, { email, note: dataMark(Number(number), String(person)) });
  }
}
