import type {
  ChannelPlugin,
  ChannelSettings,
  PlatformSimulator,
  SettingRecord,
  SettingValue,
  ShownButton,
  SimulatedApi,
  SimulatedEvent,
} from '../index.ts';
import type { ConformanceOptions, Evidence, SampleRequest, TrialOptions } from './options.ts';

/** No server listens at this address, so a channel that does not use the scope's `fetch` gets no answer. */
const API_URL = 'http://127.0.0.1:9';
/** How long ago the first message of a case was sent, ms. */
const SENT_BEFORE_MS = 60_000;

/** The plugin of one case, with its settings and its platform. */
export class Bench {
  readonly options: ConformanceOptions;
  readonly evidence: Evidence;
  readonly plugin: ChannelPlugin;
  readonly simulator: PlatformSimulator | null;
  readonly settings: ChannelSettings;
  readonly #began = Date.now() - SENT_BEFORE_MS;

  private constructor(options: TrialOptions, simulator: PlatformSimulator | null) {
    this.options = options;
    this.evidence = options.evidence;
    this.plugin = options.plugin;
    this.simulator = simulator;
    this.settings = this.#settings('ours', options.settings ?? {});
  }

  static async set(options: TrialOptions): Promise<Bench> {
    return new Bench(options, (await options.plugin.simulator?.()) ?? null);
  }

  /** Where people can write: in direct conversations, and in groups unless the channel has none. */
  get places(): readonly SimulatedEvent['place'][] {
    return this.plugin.capabilities.groups === false ? ['direct'] : ['direct', 'group'];
  }

  /** The settings of the case, but with credentials that the platform does not know. */
  get foreignSettings(): ChannelSettings {
    const { settings: given = {} } = this.options;
    const secrets = new Set(this.plugin.settings.filter(({ secret }) => secret).map(({ name }) => name));
    const others = Object.entries(given).filter(([name]) => !secrets.has(name));
    return this.#settings('foreign', Object.fromEntries(others));
  }

  /** A platform that knows the credentials of these settings. */
  platform(settings: ChannelSettings = this.settings): StandIn {
    if (this.simulator)
      return new StandIn(this.apiUrl(settings), this.simulator.startApi(settings), this.evidence);
    return new StandIn(
      '',
      this.options.send?.accepted ?? (() => new Response('', { status: 503 })),
      this.evidence,
    );
  }

  /** An event with defaults: the first person writes in a direct conversation. */
  event(given: Partial<SimulatedEvent>): SimulatedEvent {
    const { number = 1 } = given;
    const user = this.simulator?.who()[0] ?? '';
    const sent_at = this.#began + number * 1000;
    return { kind: 'message', user, text: 'Good morning.', place: 'direct', number, sent_at, ...given };
  }

  /** The platform's delivery of an event. The plugin must have a simulator. */
  delivery(given: Partial<SimulatedEvent>): SampleRequest & { body: string } {
    if (!this.simulator) throw new Error(`the channel ${this.plugin.name} has no simulator`);
    const event = this.event(given);
    const request = this.simulator.delivery(event, this.settings);
    this.evidence.made(request, event);
    return request;
  }

  apiUrl(settings: ChannelSettings = this.settings): string {
    return String(settings[this.simulator?.apiUrlSetting ?? '']);
  }

  #settings(salt: string, given: ChannelSettings): ChannelSettings {
    const deriveSecret = (name: string) =>
      Buffer.from(`${salt} ${name}`.padEnd(32, '.')).toString('base64url');
    const made = this.simulator?.devSettings((name) => deriveSecret(name).slice(0, 43), API_URL) ?? {};
    const entries = this.plugin.settings.map((record) => {
      const text = made[record.name];
      return [record.name, text === undefined ? record.default : settingValue(record, text)] as const;
    });
    return { ...Object.fromEntries(entries), ...given };
  }
}

/** The value that the daemon would make from the text of a setting. */
function settingValue({ kind, secret }: SettingRecord, text: string): SettingValue {
  if (secret) return { reveal: () => text };
  if (kind === 'integer' || kind === 'number') return Number(text);
  if (kind === 'boolean') return text === 'true';
  if (kind === 'list') return text.split(',').map((item) => item.trim());
  return text;
}

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
        if (buttons || what === 'edited') this.buttons = buttons ?? [];
        if (what === 'message' || what === 'edited' || what === 'private') this.seen.push(text);
      }
      return new Response(JSON.stringify(answer), {
        status,
        headers: { 'Content-Type': 'application/json', ...headers },
      });
    };
  }
}
