import type { ShownButton, SimulatedApi } from '../index.ts';
import type { Evidence } from './evidence.ts';

/** One call of the channel to its platform. */
export interface StandInCall {
  method: string;
  /** Path below the API's base, with the query. The whole address if it is not below the base. */
  path: string;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Aborts when the channel gives up. If undefined, the timeout of the scope's `fetch` applies. */
  signal: AbortSignal | undefined;
}

/** Maximum number of redirects that are followed. */
const REDIRECTS_MAX = 20;

/** Answers a call instead of the platform. Returns null if the platform should answer. */
export type Trouble = (call: StandInCall, count: number) => Response | Promise<Response> | null;

/** The platform of a channel, without a socket: the API of its simulator, or one answer to all calls. */
export class StandIn {
  /** All calls, in order. */
  readonly calls: StandInCall[] = [];
  /** Texts that people saw, in the platform's markup. Without a simulator, the bodies of the calls. */
  readonly seen: string[] = [];
  /** The buttons that people saw last. */
  buttons: readonly ShownButton[] = [];
  trouble: Trouble = () => null;
  readonly #base: string;
  readonly #answer: (call: StandInCall) => Response;
  readonly #evidence: Evidence;

  /** @param base address of the API; empty if there is one answer to all calls */
  constructor(base: string, api: SimulatedApi | (() => Response), evidence: Evidence) {
    this.#evidence = evidence;
    this.#base = base.replace(/\/+$/, '');
    this.#answer = typeof api === 'function' ? this.#byAnswer(api) : this.#bySimulator(api);
  }

  readonly fetch: typeof globalThis.fetch = (input, init) => this.#receive(input, init, 0);

  async #receive(
    input: string | URL | Request,
    init: RequestInit | undefined,
    redirects: number,
  ): Promise<Response> {
    // Throws if the request cannot be sent, as the real `fetch` does.
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
    if (redirects === REDIRECTS_MAX) throw new TypeError('fetch failed');
    // The real `fetch` sends the body again, too.
    const again = { ...init, method: call.method, ...(call.body === '' ? {} : { body: call.body }) };
    return this.#receive(new URL(location, request.url), again, redirects + 1);
  }

  #byAnswer(answer: () => Response): (call: StandInCall) => Response {
    return ({ body }) => {
      this.seen.push(body);
      return answer();
    };
  }

  #bySimulator(api: SimulatedApi): (call: StandInCall) => Response {
    return ({ body, ...call }) => {
      const { status, headers, body: answer, shown } = api.answer({ ...call, body: Buffer.from(body) });
      for (const { what, text, buttons } of shown) {
        if (buttons) this.buttons = buttons;
        if (what === 'message' || what === 'private') this.seen.push(text);
      }
      return new Response(JSON.stringify(answer), {
        status,
        headers: { 'Content-Type': 'application/json', ...headers },
      });
    };
  }
}
