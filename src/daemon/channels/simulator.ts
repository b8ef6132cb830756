import { isAbsentOr, isFunction, type Refusal, type Row, unfit, unfitting } from '../../channel/fit.ts';
import type { ChannelPlugin, ChannelRequest, PlatformSimulator, Route } from '../../channel/index.ts';
import { hasOwnConnection, SIMULATED_HEADER, simulatedPath } from '../../channel/simulator.ts';
import { AgentdError } from '../errors.ts';
import type { ActiveChannel } from '../http/routes.ts';
import { isLoopback } from '../settings/addresses.ts';
import { ConfigurationError } from '../settings/problem.ts';
import { describeThrown } from '../syntax/source-location.ts';

const FUNCTIONS = ['devSettings', 'who', 'delivery', 'seenIn', 'startApi'] as const;
const OPTIONAL = ['sign', 'shownOf', 'refusal'] as const;

/**
 * The simulator of a channel's platform; null if the channel has none. @throws ConfigurationError if the simulator
 * cannot be loaded or does not follow the contract.
 */
export async function loadSimulator(plugin: ChannelPlugin): Promise<PlatformSimulator | null> {
  if (!plugin.simulator) return null;
  let simulator: PlatformSimulator;
  try {
    simulator = await plugin.simulator();
  } catch (error) {
    const problem = `\`simulator\` threw: ${describeThrown(error)}`;
    throw refuse(plugin, [{ problem, right: 'a function that resolves to a PlatformSimulator' }]);
  }
  const refusals = misfits(plugin, simulator);
  if (refusals.length > 0) throw refuse(plugin, refusals);
  return simulator;
}

function misfits({ settings }: ChannelPlugin, simulator: unknown): Refusal[] {
  if (typeof simulator !== 'object' || simulator === null)
    return [unfit('the result of `simulator`', 'an object', simulator)];
  const members = simulator as Record<string, unknown>;
  const { apiUrlSetting } = members;
  const isUrl = settings.some(({ name, kind }) => kind === 'url' && name === apiUrlSetting);
  return unfitting([
    ...FUNCTIONS.map(
      (name): Row => [isFunction(members[name]), `\`simulator.${name}\``, 'a function', members[name]],
    ),
    [isUrl, '`simulator.apiUrlSetting`', 'a setting of the kind url', apiUrlSetting],
    ...OPTIONAL.map(
      (name): Row => [
        isAbsentOr(isFunction, members[name]),
        `\`simulator.${name}\``,
        'a function, or absent',
        members[name],
      ],
    ),
  ]);
}

function refuse({ name }: ChannelPlugin, refusals: readonly Refusal[]): ConfigurationError {
  return new ConfigurationError(
    refusals.map((refusal) => ({ setting: `channel ${name}`, value: null, source: null, ...refusal })),
  );
}

/**
 * Under `serve --dev`, a simulated channel without a webhook also takes its updates from `agentd simulate`, at a route
 * that no other daemon has.
 */
export function simulatedRoutes({ plugin, channel }: ActiveChannel): Route[] {
  if (!hasOwnConnection(plugin)) return [];
  return [
    {
      method: 'POST',
      path: simulatedPath(plugin.name),
      async handle({ headers, body }: ChannelRequest) {
        if (headers[SIMULATED_HEADER] === undefined)
          throw new AgentdError(
            'invalid_signature',
            `Only \`agentd simulate ${plugin.name}\` uses this address.`,
          );
        await channel.receive?.(body);
        return { status: 200 };
      },
    },
  ];
}

/** Whether the address is plain HTTP on this machine's loopback interface, where a platform's API can be simulated. */
export function isStandInAddress(url: URL): boolean {
  return url.protocol === 'http:' && isLoopback(url);
}
