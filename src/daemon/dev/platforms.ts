import { createHmac, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { ChannelPlugin } from '../../channel/index.ts';
import { loadSimulator } from '../channels/simulator.ts';
import type { EffectiveSetting } from '../settings/check.ts';
import { DEV_SOURCE } from '../settings/sources.ts';

/** The input for the settings of the platforms. */
interface PlatformsOptions {
  plugins: readonly ChannelPlugin[];
  effective: readonly EffectiveSetting[];
  /** All generated secrets are derived from the seed, so they stay the same as long as the seed does. */
  seed: string;
  /** Values that an earlier run has stored, by name of the setting. */
  kept: Readonly<Record<string, string | undefined>>;
}

/**
 * The lowest port. All ports are below the range that the system uses for outgoing connections: a port in that range
 * may be in use when `agentd simulate` wants to listen.
 */
const PORT_MIN = 20_000;
const PORT_MAX = 32_000;
const TRIES = 50;

/**
 * Settings with which the channels of platforms run without an account: generated secrets and, instead of the address
 * of the platform's API, a loopback address, where `agentd simulate` simulates the platform. A channel that the
 * operator has set up gets none of these settings: it talks to its platform.
 *
 * @throws ConfigurationError if a channel's simulator does not follow the contract.
 */
export async function platformSettings(options: PlatformsOptions): Promise<{
  settings: Record<string, string>;
  /** Names of the channels that can be simulated. */
  simulated: string[];
}> {
  const { plugins, effective, seed, kept } = options;
  const taken = new Set<number>();
  const settings: Record<string, string> = {};
  const simulated: string[] = [];
  const open = plugins.filter((plugin) => !isSetUp(plugin, effective));
  const simulators = await Promise.all(open.map(loadSimulator));
  for (const [index, plugin] of open.entries()) {
    const simulator = simulators[index];
    if (!simulator) continue;
    simulated.push(plugin.name);
    const port = keptPort(kept[simulator.apiUrlSetting]) ?? (await freePort(taken));
    taken.add(port);
    const deriveSecret = (name: string) =>
      createHmac('sha256', seed).update(`${plugin.name}/${name}`).digest('base64url');
    Object.assign(settings, simulator.devSettings(deriveSecret, `http://127.0.0.1:${port}`));
  }
  return { settings, simulated };
}

/**
 * Whether the operator has given all settings that the channel needs. Settings from `serve --dev` itself do not count.
 */
export function isSetUp({ settings }: ChannelPlugin, effective: readonly EffectiveSetting[]): boolean {
  const required = settings.filter((record) => record.required).map(({ name }) => name);
  const given = effective.filter(({ source }) => !['default', 'unset', DEV_SOURCE].includes(source));
  return required.length > 0 && required.every((name) => given.some(({ record }) => record.name === name));
}

function keptPort(address: string | undefined): number | undefined {
  const url = URL.parse(address ?? '');
  return url?.hostname === '127.0.0.1' && url.port !== '' ? Number(url.port) : undefined;
}

async function freePort(taken: ReadonlySet<number>): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(PORT_MIN, PORT_MAX);
    if (!taken.has(port) && (await isFree(port))) return port;
  }
  throw new Error(`no free port was found between ${PORT_MIN} and ${PORT_MAX}`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    // The port is in use or not allowed, so another port is tried.
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
