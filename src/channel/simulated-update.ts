import type { ChannelPlugin } from './channel.ts';
import type { SimulatedRequest } from './simulator.ts';

/** The header of a simulated update. A page of another site cannot send it without permission (CORS). */
export const SIMULATED_HEADER = 'x-agentd-simulated';

/** The path at which `serve --dev` takes updates for a simulated channel without a webhook. */
export function simulatedPath(channel: string): string {
  return `/simulate/${channel}`;
}

/** Whether the channel gets its messages over a connection of its own, not at a route. */
export function hasOwnConnection({ capabilities }: Pick<ChannelPlugin, 'capabilities'>): boolean {
  return capabilities.webhook === false;
}

/** The request that brings an update of the simulator to `Channel.receive`. */
export function updateRequest({ name }: ChannelPlugin, { body }: SimulatedRequest): SimulatedRequest {
  return { method: 'POST', path: simulatedPath(name), headers: { [SIMULATED_HEADER]: '1' }, body };
}
