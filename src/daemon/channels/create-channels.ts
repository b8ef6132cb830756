import { checkChannel } from '../../channel/check-channel.ts';
import type { Refusal } from '../../channel/fit.ts';
import type { Channel, ChannelPlugin, ChannelSettings } from '../../channel/index.ts';
import type { ActiveChannel } from '../http/routes.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { describeThrown } from '../syntax/source-location.ts';
import type { AlarmClock } from '../time/clock.ts';
import { within } from '../time/time-limit.ts';

/**
 * The routes that the daemon itself answers (agentd-service(7)), without the names of their parameters. Routes that the
 * settings turn off are reserved all the same, so that a setting never takes the path of a channel.
 */
const OWN_ROUTES = [
  'GET /',
  'POST /feedback',
  'POST /link/codes',
  'GET /link/codes/:',
  'DELETE /link/codes/:',
  'POST /link/codes/:/confirm',
  'GET /links',
  'DELETE /links/:',
  'POST /backchannel-logout',
];

/** Checks that the result of `create` has the shape of a channel (src/channel/channel.ts). Runs none of its code. */
export function channelProblems(plugin: ChannelPlugin, channel: unknown): SettingProblem[] {
  return checkChannel(plugin, channel).map((refusal) => toProblem(plugin, refusal));
}

/**
 * Checks that no two routes of the active channels have the same method and path, and that no route is one of the daemon's own.
 * Reports every conflict.
 */
export function routeProblems(
  active: readonly { plugin: ChannelPlugin; channel: Channel }[],
): SettingProblem[] {
  const problems: SettingProblem[] = [];
  const takenBy = new Map(OWN_ROUTES.map((route) => [route, 'the daemon itself']));
  for (const { plugin, channel } of active) {
    for (const { method, path } of channel.routes) {
      const key = `${method} ${path.replace(/:\w+/g, ':')}`;
      const owner = takenBy.get(key);
      if (owner === undefined) takenBy.set(key, `the channel ${plugin.name}`);
      else {
        const problem = `the route ${method} ${path} is taken by ${owner}`;
        problems.push(toProblem(plugin, { problem, right: 'another path' }));
      }
    }
  }
  return problems;
}

/** The refusal of an object from a plugin, as a problem of the plugin's channel. */
function toProblem({ name }: ChannelPlugin, refusal: Refusal): SettingProblem {
  return { setting: `channel ${name}`, value: null, source: null, ...refusal };
}

interface Configured {
  plugin: ChannelPlugin;
  settings: ChannelSettings;
}

/**
 * Creates the active channels, each with its own scope (src/channel/channel.ts, "given its settings and scope"). The
 * code of plugins runs here. Errors that it throws are reported together with all other problems, for all channels at
 * once.
 * @throws ConfigurationError
 */
export function createChannels(
  configured: readonly Configured[],
  create: (configured: Configured) => Channel,
): ActiveChannel[] {
  const active: ActiveChannel[] = [];
  const problems: SettingProblem[] = [];
  for (const one of configured) {
    const { plugin } = one;
    try {
      const channel = create(one);
      const misshapen = channelProblems(plugin, channel);
      problems.push(...misshapen);
      if (misshapen.length === 0) active.push({ plugin, channel });
    } catch (error) {
      const right = 'a function that only creates the channel; code that can fail belongs in `start`';
      problems.push(toProblem(plugin, { problem: `\`create\` threw: ${describeThrown(error)}`, right }));
    }
  }
  problems.push(...routeProblems(active));
  if (problems.length > 0) throw new ConfigurationError(problems);
  return active;
}

/** A channel did not start, because something that it needs cannot be reached or has refused it. Exit code 69. */
class ChannelStartFailed extends Error {
  constructor(channel: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`the channel ${channel} did not start: ${why}`, { cause });
    this.name = 'ChannelStartFailed';
  }
}

/** How long a channel may take to start, ms. The daemon does not listen before that. */
const START_MS = 60_000;

/** Starts a channel that has something to start. @throws ChannelStartFailed */
export async function startChannel(
  { plugin, channel }: ActiveChannel,
  clock?: Pick<AlarmClock, 'after'>,
): Promise<void> {
  const late = () => {
    throw new Error(`\`start\` did not resolve within ${START_MS / 1000} seconds`);
  };
  try {
    await within(Promise.resolve(channel.start?.()), START_MS, late, clock);
  } catch (error) {
    throw new ChannelStartFailed(plugin.name, error);
  }
}
