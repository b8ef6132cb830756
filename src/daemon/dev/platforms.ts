import { createHmac, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { ChannelPlugin } from '../../channel/index.ts';
import { loadSimulator } from '../plugin/load-simulator.ts';
import type { EffectiveSetting } from '../settings/check.ts';
import { DEV_SOURCE } from '../settings/sources.ts';

/** What the settings of the platforms are made from. */
export interface PlatformsOptions {
  plugins: readonly ChannelPlugin[];
  effective: readonly EffectiveSetting[];
  /** What all generated secrets are derived from: as long as it stays, they do. */
  seed: string;
  /** What an earlier run has kept, by name of the setting. */
  kept: Readonly<Record<string, string | undefined>>;
}

/**
 * Below the ports that systems give to outgoing connections: a port of those may be taken for a moment
 * whenever `agentd simulate` wants to listen on it.
 */
const PORT_MIN = 20_000;
const PORT_MAX = 32_000;
const TRIES = 50;

/**
 * Settings with which the channels of platforms run with no account: generated secrets, and a loopback address
 * in the place of the platform's API, where `agentd simulate` stands in for it. A channel that the operator
 * has set up gets none of them: it talks to its platform.
 *
 * @throws ConfigurationError if a channel's simulator does not fit.
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
    const secretOf = (name: string) =>
      createHmac('sha256', seed).update(`${plugin.name}/${name}`).digest('base64url');
    Object.assign(settings, simulator.devSettings(secretOf, `http://127.0.0.1:${port}`));
  }
  return { settings, simulated };
}

/** Has somebody given all that the channel needs? What `serve --dev` itself has given does not count. */
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
    // In use, or not ours to listen on: the next one is tried.
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
