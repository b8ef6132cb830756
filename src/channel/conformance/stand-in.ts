import type { SimulatedApi } from '../index.ts';
import type { Evidence } from './evidence.ts';

/** One call of the channel to its platform. */
export interface StandInCall {
  method: string;
  /** Below the API's base, with its query; the whole address where it is not the platform's. */
  path: string;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string;
  /** How the channel would give it up; undefined: after the time-out of the scope's `fetch`. */
  signal: AbortSignal | undefined;
}

/** Redirections that are followed, one after another, by who follows them. */
const REDIRECTIONS_MAX = 20;

/** What happens to a call instead of the platform's own answer; null: nothing. */
export type Trouble = (call: StandInCall, count: number) => Response | Promise<Response> | null;

/** The platform of a channel, without a socket: the API of its simulator, or one answer to everything. */
export class StandIn {
  /** Every call, in order, also those that met trouble. */
  readonly calls: StandInCall[] = [];
  /** What people were sent, in the platform's markup; without a simulator, the bodies of what was taken. */
  readonly seen: string[] = [];
  trouble: Trouble = () => null;
  readonly #base: string;
  readonly #answer: (call: StandInCall) => Response;
  readonly #evidence: Evidence;

  /** @param base address of the API; empty where one answer is given to everything */
  constructor(base: string, api: SimulatedApi | (() => Response), evidence: Evidence) {
    this.#evidence = evidence;
    this.#base = base.replace(/\/+$/, '');
    this.#answer = typeof api === 'function' ? this.#byHand(api) : this.#bySimulator(api);
  }

  readonly fetch: typeof globalThis.fetch = (input, init) => this.#receive(input, init, 0);

  async #receive(
    input: string | URL | Request,
    init: RequestInit | undefined,
    redirections: number,
  ): Promise<Response> {
    // Refuses what cannot be sent, as the real one does.
    const request = new Request(input, init);
    const call: StandInCall = {
      method: request.method,
      path: request.url.startsWith(this.#base) ? request.url.slice(this.#base.length) : request.url,
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
      signal: init?.signal ?? (input instanceof Request ? input.signal : undefined),
    };
    call.signal?.throwIfAborted();
    this.calls.push(call);
    const note = this.#evidence.call(call);
    const response = (await this.trouble(call, this.calls.length)) ?? this.#answer(call);
    note(String(response.status));
    const location = response.headers.get('Location');
    const isFollowed = response.status === 307 && location !== null && request.redirect === 'follow';
    if (!isFollowed) return response;
    if (redirections === REDIRECTIONS_MAX) throw new TypeError('fetch failed');
    // As the real one does, which leaves out some headers on the way, but not the body.
    const again = { ...init, method: call.method, ...(call.body === '' ? {} : { body: call.body }) };
    return this.#receive(new URL(location, request.url), again, redirections + 1);
  }

  #byHand(answer: () => Response): (call: StandInCall) => Response {
    return ({ body }) => {
      this.seen.push(body);
      return answer();
    };
  }

  #bySimulator(api: SimulatedApi): (call: StandInCall) => Response {
    return ({ body, ...call }) => {
      const { status, headers, body: answer, shown } = api.answer({ ...call, body: Buffer.from(body) });
      for (const { what, text } of shown) {
        if (what === 'message' || what === 'private') this.seen.push(text);
      }
      return new Response(JSON.stringify(answer), {
        status,
        headers: { 'Content-Type': 'application/json', ...headers },
      });
    };
  }
}
