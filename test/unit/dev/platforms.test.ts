import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { ChannelPlugin, ChannelRequest, PlatformSimulator, Route } from '../../../src/channel/index.ts';
import { isSetUp, platformSettings } from '../../../src/daemon/dev/platforms.ts';
import { shopRoutes } from '../../../src/daemon/dev/prepare.ts';
import type { EffectiveSetting } from '../../../src/daemon/settings/check.ts';
import telex from '../../fixtures/telex.ts';

const from = (source: string): EffectiveSetting[] =>
  telex.settings.map((record) => ({ record, value: 'x', source, shown: 'x' }));
const options = { plugins: [telex] as ChannelPlugin[], effective: from('unset'), seed: 'seed', kept: {} };

describe('the settings of platforms for serve --dev', () => {
  it('give a channel a secret and an address on this machine', async () => {
    const { settings, simulated } = await platformSettings(options);
    expect(simulated).toEqual(['telex']);
    expect(settings.TELEX_SECRET).toMatch(/^[\w-]{43}$/);
    const port = Number(/^http:\/\/127\.0\.0\.1:(\d+)$/.exec(settings.TELEX_API_URL ?? '')?.[1]);
    expect(port).toBeGreaterThanOrEqual(20_000);
    expect(port).toBeLessThan(32_000);
  });

  it('stay the same with the same seed and stored address, even if that address is in use', async () => {
    const first = (await platformSettings(options)).settings;
    const listener = createServer().listen(Number(new URL(first.TELEX_API_URL ?? '').port), '127.0.0.1');
    await once(listener, 'listening');
    expect((await platformSettings({ ...options, kept: first })).settings).toEqual(first);
    listener.close();
    const other = await platformSettings({ ...options, seed: 'another', kept: first });
    expect(other.settings.TELEX_SECRET).not.toBe(first.TELEX_SECRET);
  });

  it('contain a new address if the stored address is on another machine', async () => {
    const kept = { TELEX_API_URL: 'https://telex.example.com' };
    const { settings } = await platformSettings({ ...options, kept });
    expect(settings.TELEX_API_URL).toMatch(/^http:\/\/127\.0\.0\.1:/);
  });

  it('are empty for a channel that is already configured or has no simulator', async () => {
    const none = { settings: {}, simulated: [] };
    expect(await platformSettings({ ...options, effective: from('.env') })).toEqual(none);
    const { simulator: _simulator, ...bare } = telex as ChannelPlugin;
    expect(await platformSettings({ ...options, plugins: [bare] })).toEqual(none);
    expect(isSetUp(telex, from('serve --dev'))).toBe(false);
  });

  it.each<[string, () => Promise<PlatformSimulator>, string]>([
    ['throws', () => Promise.reject(new Error('no file')), '`simulator` threw: no file'],
    ['is null', async () => null as never, 'the result of `simulator` is null'],
    [
      'lacks a member',
      async () => ({ ...(await telex.simulator()), delivery: undefined }) as never,
      '`simulator.delivery` is missing',
    ],
    [
      'names an unknown setting',
      async () => ({ ...(await telex.simulator()), apiUrlSetting: 'TELEX_SECRET' }),
      '`simulator.apiUrlSetting` is "TELEX_SECRET"',
    ],
  ])('are refused for a simulator that %s', async (_what, simulator, words) => {
    await expect(platformSettings({ ...options, plugins: [{ ...telex, simulator }] })).rejects.toThrow(words);
  });
});

const parts = {
  issueToken: async () => 'a token',
  requestsAfter: () => null,
  restore: () => undefined,
  listActions: async () => [],
};

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
    'POST /demo/restore',
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
