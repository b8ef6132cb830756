import { existsSync } from 'node:fs';
import type { ChannelRequest, Route } from '../../channel/index.ts';
import { AgentdError } from '../errors.ts';
import type { ApiRequest } from './sample-api.ts';
import { SAMPLE_PEOPLE } from './sample-people.ts';

/** The folder of the bundled channels, in the sources or in the build. */
const BUNDLED = new URL('../../../plugins/', import.meta.url);
const ENDING = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** The data that the shop can get about its people and its API. */
export interface ShopParts {
  /** A fresh token, as the company's website would sign it. Null if there is no such person, or no secret. */
  issueToken(person_id: string): Promise<string | null>;
  /** Requests to the sample API after the one with this number. Null if `API_BASE_URL` names a real API. */
  requestsAfter(number: number): readonly ApiRequest[] | null;
  /** Actions for a person, newest first. */
  actionsOf(person_id: string): Promise<readonly DoneAction[]>;
}

/** One line of the journal, as the shop shows it. */
export interface DoneAction {
  /** ms since the epoch */
  at: number;
  summary: string;
  outcome: string;
}

/**
 * The routes of the sample shop, a page of `serve --dev` on which a visitor signs in as a sample person. The page
 * belongs to a bundled channel: the first active channel with a module `shop-page` in its folder. This module exports
 * the routes of the page's files. Empty if no active channel has such a module.
 */
export async function shopRoutes(channels: readonly string[], parts: ShopParts): Promise<readonly Route[]> {
  for (const channel of channels) {
    const module = new URL(`${channel}/shop-page${ENDING}`, BUNDLED);
    if (!existsSync(module)) continue;
    const { routes } = (await import(module.href)) as { routes: readonly Route[] };
    return [...routes, ...companyRoutes(parts)].map(guarded);
  }
  return [];
}

function companyRoutes({ issueToken, requestsAfter, actionsOf }: ShopParts): Route[] {
  const people = SAMPLE_PEOPLE.map(({ id, name, email }) => ({ id, name, email }));
  return [
    { method: 'GET', path: '/demo/people', handle: () => ({ body: { people } }) },
    {
      method: 'GET',
      path: '/demo/token/:person',
      async handle({ params }) {
        const token = await issueToken(params.person ?? '');
        if (token === null)
          throw new AgentdError('not_found', 'There is no such person, or no secret to sign with.');
        return { body: { token } };
      },
    },
    {
      method: 'GET',
      path: '/demo/actions/:person',
      handle: async ({ params }) => ({ body: { actions: await actionsOf(params.person ?? '') } }),
    },
    {
      method: 'GET',
      path: '/demo/requests',
      handle: ({ query }) => ({ body: { requests: requestsAfter(Number(query.get('after')) || 0) } }),
    },
  ];
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
  throw new AgentdError('not_found', 'Open the sample shop by its IP address, or as localhost.');
}
