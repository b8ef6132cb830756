import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  ChannelPlugin,
  ChannelSettings,
  PlatformSimulator,
  Shown,
  SimulatedApi,
  SimulatedEvent,
  SimulatedRequest,
} from '../../src/channel/index.ts';
import { Secret } from '../../src/daemon/settings/secret.ts';
import { LocalServer } from './local-server.ts';

/** One call of the platform's API, as received. */
export interface PlatformCall {
  method: string;
  /** Path below the API's base, with the query. */
  path: string;
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
  /** ms since the epoch. */
  at: number;
}

/**
 * Replaces the platform's answer to a call. `hang`: there is no answer. `after`: the platform's answer is sent when
 * this promise resolves.
 */
export type PlatformAnswer =
  | { status: number; headers?: Readonly<Record<string, string>>; body?: object | string }
  | { after: Promise<void> }
  | 'hang';

export interface DaemonAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/**
 * The platform of a channel: a server on loopback with the API of the channel's simulator. It records the calls of the
 * channel and everything that people would see, and can fail on request. It also delivers events to a daemon as the
 * platform does.
 */
export class FakePlatform extends LocalServer {
  /** Every call, including failed ones. */
  readonly calls: PlatformCall[] = [];
  /** Everything that people see, in order. */
  readonly shown: Shown[] = [];
  /** Called for each call. Returns null if the platform itself should answer. */
  answer: (call: PlatformCall) => PlatformAnswer | null = () => null;
  readonly simulator: PlatformSimulator;
  /** Settings of a daemon with the channel, which calls this platform. */
  env: Readonly<Record<string, string>> = {};
  /** The same settings, in the form in which the channel gets them. */
  settings: ChannelSettings = {};
  #api: SimulatedApi | null = null;
  #number = 0;

  private constructor(simulator: PlatformSimulator) {
    super();
    this.simulator = simulator;
  }

  static async start(plugin: ChannelPlugin): Promise<FakePlatform> {
    const simulator = await plugin.simulator?.();
    if (!simulator) throw new Error(`the channel ${plugin.name} has no simulator`);
    const platform = await new FakePlatform(simulator).listen();
    platform.env = simulator.devSettings(deriveSecret, platform.origin);
    platform.settings = settingsOf(plugin, platform.env);
    platform.#api = simulator.startApi(platform.settings);
    return platform;
  }

  /** A complete event. Default: a new direct message of the first person, written now. */
  event(given: Partial<SimulatedEvent> = {}): SimulatedEvent {
    return {
      kind: 'message',
      user: this.simulator.who()[0] ?? '',
      text: 'hello',
      place: 'direct',
      number: ++this.#number,
      sent_at: Date.now(),
      ...given,
    };
  }

  /** Delivers an event to a daemon. */
  deliver(daemon: { url: string }, given: Partial<SimulatedEvent> = {}): Promise<DaemonAnswer> {
    return this.post(daemon, this.simulator.delivery(this.event(given), this.settings));
  }

  async post(
    { url }: { url: string },
    { method, path, headers, body }: SimulatedRequest,
  ): Promise<DaemonAnswer> {
    const response = await fetch(url + path, { method, headers, ...(method === 'POST' ? { body } : {}) });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Texts that people see in a room, in order. */
  textsTo(place: string): string[] {
    return this.shown.filter(({ what, to }) => what === 'message' && to === place).map(({ text }) => text);
  }

  /** Forgets all calls, and answers normally again, for the next test. */
  forget(): void {
    this.calls.length = 0;
    this.shown.length = 0;
    this.answer = () => null;
  }

  protected async handle(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const call: PlatformCall = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers as Record<string, string | undefined>,
      body: body.toString(),
      at: Date.now(),
    };
    this.calls.push(call);
    this.emit('came');
    const instead = this.answer(call);
    if (instead === 'hang') return;
    if (instead !== null && 'status' in instead) {
      const text = typeof instead.body === 'string' ? instead.body : JSON.stringify(instead.body ?? {});
      response
        .writeHead(instead.status, { 'Content-Type': 'application/json', ...instead.headers })
        .end(text);
      return;
    }
    if (instead !== null) await instead.after;
    const answer = this.#api?.answer({ ...call, body });
    if (!answer) throw new Error('a call came before the platform was ready');
    response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers });
    response.end(JSON.stringify(answer.body));
    this.shown.push(...answer.shown);
    this.emit('came');
  }
}

/** The settings of a channel as the channel gets them: with defaults, and with secrets wrapped in `Secret`. */
export function settingsOf(
  { settings: records }: ChannelPlugin,
  given: Readonly<Record<string, string>>,
): ChannelSettings {
  return Object.fromEntries(
    records.map((record) => {
      const { name, secret, default: value } = record;
      const text = given[name];
      return [name, text === undefined ? value : secret ? new Secret(text) : text];
    }),
  );
}

/** A secret of 43 base64url characters, always the same for the same name. */
function deriveSecret(name: string): string {
  return createHash('sha256').update(name).digest('base64url');
}
