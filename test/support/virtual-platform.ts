import type {
  ChannelPlugin,
  ChannelSettings,
  PlatformSimulator,
  Shown,
  SimulatedApi,
  SimulatedEvent,
  SimulatedRequest,
} from '../../src/channel/index.ts';
import { settingsOf } from './fake-platform.ts';

/** The answer or error of a call during an outage; null if the platform itself answers the call. */
export type Outage = (call: { path: string; body: string }) => Response | Error | null;

const API_URL = 'http://platform.invalid';

/** The platform of a channel, in this process and without a socket. It outlives the daemons that use it. */
export class VirtualPlatform {
  readonly plugin: ChannelPlugin;
  /** Settings of a daemon that has the channel. */
  readonly env: Readonly<Record<string, string>>;
  /** Everything that people see, in order. */
  readonly shown: Shown[] = [];
  outage: Outage = () => null;
  readonly #simulator: PlatformSimulator;
  readonly #settings: ChannelSettings;
  readonly #api: SimulatedApi;

  private constructor(plugin: ChannelPlugin, simulator: PlatformSimulator) {
    this.plugin = plugin;
    this.#simulator = simulator;
    this.env = simulator.devSettings((name) => `${name}-`.padEnd(43, 'x'), API_URL);
    this.#settings = settingsOf(plugin, this.env);
    this.#api = simulator.startApi(this.#settings);
  }

  static async of(plugin: ChannelPlugin): Promise<VirtualPlatform> {
    const simulator = await plugin.simulator?.();
    if (!simulator) throw new Error(`the channel ${plugin.name} has no simulator`);
    return new VirtualPlatform(plugin, simulator);
  }

  /** A replacement for `ChannelScope.fetch`. */
  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const call = {
      method: request.method,
      path: request.url.slice(API_URL.length),
      headers: Object.fromEntries(request.headers),
      body: await request.text(),
    };
    const instead = this.outage(call);
    if (instead instanceof Error) throw instead;
    if (instead !== null) return instead;
    const { status, headers, body, shown } = this.#api.answer({ ...call, body: Buffer.from(call.body) });
    this.shown.push(...shown);
    const type = { 'Content-Type': 'application/json' };
    return new Response(JSON.stringify(body), { status, headers: { ...type, ...headers } });
  };

  delivery(event: SimulatedEvent): SimulatedRequest {
    return this.#simulator.delivery(event, this.#settings);
  }

  /** The texts that the writer of this event got, in order. */
  textsFor(event: SimulatedEvent): string[] {
    const places = this.#simulator.seenIn(event, this.#settings);
    return this.shown
      .filter(({ what, to }) => what === 'message' && places.includes(to))
      .map(({ text }) => text);
  }
}
