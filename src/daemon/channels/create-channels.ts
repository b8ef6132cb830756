import type { Channel, ChannelPlugin, ChannelSettings } from '../../channel/index.ts';
import type { ActiveChannel } from '../http/routes.ts';
import { ConfigurationError, type SettingProblem } from '../settings/problem.ts';
import { describeThrown } from '../syntax/source-location.ts';
import { channelProblems, problemOf, routeProblems } from './check-channel.ts';

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
      problems.push(problemOf(plugin, { problem: `\`create\` threw: ${describeThrown(error)}`, right }));
    }
  }
  problems.push(...routeProblems(active));
  if (problems.length > 0) throw new ConfigurationError(problems);
  return active;
}
