import type { Channel, ChannelHealth, ChannelPlugin, Route } from '../../channel/index.ts';
import type { Log } from '../process/log.ts';
import { health } from './health.ts';

/** An active channel, and the plugin that created it. */
export interface ActiveChannel {
  plugin: ChannelPlugin;
  channel: Channel;
}

/** The state of a platform that cannot be reached; null if no outage is known. */
export type OutageOf = (platform: string) => ChannelHealth | null;

export interface MountedRoute extends Route {
  /** The channel that the route belongs to; null if it is the daemon's own. */
  channel: string | null;
}

/** All routes that the daemon answers. */
export function routes(channels: readonly ActiveChannel[], outageOf: OutageOf, log: Log): MountedRoute[] {
  return [
    { method: 'GET', path: '/', channel: null, handle: health(channels, outageOf, log) },
    ...channels.flatMap(({ plugin, channel }) => channel.routes.map((route) => mount(route, plugin.name))),
  ];
}

/** A route may be an instance of a class, so its functions are called with the route as `this`. */
function mount(route: Route, channel: string): MountedRoute {
  return {
    ...route,
    channel,
    ...(route.token ? { token: (request) => route.token?.(request) } : {}),
    ...(route.refusal ? { refusal: route.refusal.bind(route) } : {}),
    ...(route.headers ? { headers: (request) => route.headers?.(request) ?? {} } : {}),
    ...(route.thread ? { thread: (request) => route.thread?.(request) ?? null } : {}),
    handle: (request) => route.handle(request),
  };
}
