import type { ChannelRequest, Route } from '../../channel/index.ts';
import { hasOwnConnection, SIMULATED_HEADER, simulatedPath } from '../../channel/simulated-update.ts';
import { AgentdError } from '../errors.ts';
import type { ActiveChannel } from '../http/routes.ts';

/**
 * Under `serve --dev`, a simulated channel without a webhook also takes its updates from `agentd simulate`, at a route
 * that no other daemon has.
 */
export function withSimulatedUpdates({ plugin, channel }: ActiveChannel): ActiveChannel {
  if (!hasOwnConnection(plugin)) return { plugin, channel };
  const route: Route = {
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
  };
  return { plugin, channel: { ...channel, routes: [...channel.routes, route] } };
}
