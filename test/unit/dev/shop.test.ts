import { expect, it } from 'vitest';
import type { ChannelRequest, Route } from '../../../src/channel/index.ts';
import { shopRoutes } from '../../../src/daemon/dev/prepare.ts';

const parts = { issueToken: async () => 'a token', requestsAfter: () => null, actionsOf: async () => [] };

const ask = (route: Route | undefined, host: string) =>
  route?.handle({ headers: { host }, params: {}, query: new URLSearchParams() } as unknown as ChannelRequest);

it('the shop has routes for its page and its people if a channel with a page is active', async () => {
  const routes = await shopRoutes(['sse', 'webchat'], parts);
  expect(routes.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /demo',
    'GET /demo/shop.css',
    'GET /demo/shop.js',
    'GET /demo/people',
    'GET /demo/token/:person',
    'GET /demo/actions/:person',
    'GET /demo/requests',
  ]);
});

it('the shop has no routes if no active channel has a page', async () => {
  expect(await shopRoutes(['sse', 'telex'], parts)).toEqual([]);
});

it('under a foreign host name, the shop returns neither tokens nor people', async () => {
  for (const route of await shopRoutes(['webchat'], parts))
    expect(() => ask(route, 'evil.example')).toThrow('Open the sample shop by its IP address');
  const token = (await shopRoutes(['webchat'], parts)).find(({ path }) => path.startsWith('/demo/token'));
  expect(await ask(token, 'localhost:8080')).toEqual({ body: { token: 'a token' } });
});
