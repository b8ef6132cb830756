import { existsSync } from 'node:fs';
import { companyRoutes, type ShopParts } from '../../../plugins/sample/people.ts';
import type { ChannelRequest, Route } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';

/** The folder of the bundled channels, in the sources or in the build. */
const BUNDLED = new URL('../../../plugins/', import.meta.url);
const ENDING = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/**
 * The routes of the sample shop, a page of `serve --dev` on which a visitor signs in as a sample person. The page
 * belongs to a bundled channel: the first active channel with a module `shop-page` in its folder. This module exports
 * the routes of the page's files. Empty if no active channel has such a module.
 */
export async function shopRoutes(
  channels: readonly string[],
  parts: Omit<ShopParts, 'notFound'>,
): Promise<readonly Route[]> {
  for (const channel of channels) {
    const module = new URL(`${channel}/shop-page${ENDING}`, BUNDLED);
    if (!existsSync(module)) continue;
    const { routes } = (await import(module.href)) as { routes: readonly Route[] };
    return [...routes, ...companyRoutes({ ...parts, notFound })].map(guarded);
  }
  return [];
}

function notFound(detail: string): AgentdError {
  return new AgentdError('not_found', detail);
}

function guarded(route: Route): Route {
  return {
    ...route,
    handle(request) {
      refuseForeignNames(request);
      return route.handle(request);
    },
  };
}

/**
 * Another site may point one of its own host names to this address (DNS rebinding). Its pages would then have the same
 * origin as the shop, and could fetch tokens. Therefore only addresses and `localhost` are allowed as host names.
 */
function refuseForeignNames({ headers }: ChannelRequest): void {
  const name = (headers.host ?? '').replace(/:\d+$/, '');
  if (/^(localhost|[\d.]+|\[[\da-f:.]+\])$/i.test(name)) return;
  throw notFound('Open the sample shop by its IP address, or as localhost.');
}
