import { describe, expect, it } from 'vitest';
import type { ChannelPlugin, Route } from '../../../src/channel/index.ts';
import {
  channelProblems,
  routeProblems,
  startChannel,
} from '../../../src/daemon/channels/create-channels.ts';
import { backChannelLogout } from '../../../src/daemon/http/back-channel-logout.ts';
import { feedbackRoute } from '../../../src/daemon/http/feedback-route.ts';
import { linkRoutes } from '../../../src/daemon/http/link-routes.ts';
import type { SettingProblem } from '../../../src/daemon/settings/problem.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

function plugin(name: string, delivery: 'response' | 'push' = 'response'): ChannelPlugin {
  return {
    name,
    apiVersion: 1,
    summary: 'For tests.',
    settings: [],
    detect: () => true,
    delivery,
    capabilities: { textLimit: null, markdown: 'none', typing: false },
    create: () => ({ routes: [] }),
  } as ChannelPlugin;
}

const route = (path: string, method: Route['method'] = 'POST'): Route => ({
  method,
  path,
  handle: () => ({}),
});

const refusals = (problems: readonly SettingProblem[]): string[] =>
  problems.map(({ setting, problem, right }) => `${setting}: ${problem} → ${right}`);

describe('the channel object that a plugin creates', () => {
  it('needs only `routes` if the channel answers in the response', () => {
    const channel = {
      routes: [route('/telex/webhook'), route('/telex/:id', 'DELETE'), route('/'), route('/a/')],
    };
    expect(refusals(channelProblems(plugin('telex'), channel))).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ['not an object', undefined, 'channel telex: the result of `create` is missing → a channel (an object)'],
    ['no routes', {}, 'channel telex: `routes` is missing → a list of routes'],
    [
      'a `stop` that is not a function',
      { routes: [], stop: 1 },
      'channel telex: `stop` is 1 → a function, or absent',
    ],
    ['an invalid route', { routes: ['/x'] }, 'channel telex: `routes[0]` is "/x" → a route'],
    [
      'an unknown method',
      { routes: [{ ...route('/x'), method: 'PATCH' }] },
      'channel telex: `routes[0].method` is "PATCH" → one of GET, POST, PUT, DELETE',
    ],
    [
      'a path without a slash',
      { routes: [route('telex')] },
      'channel telex: `routes[0].path` is "telex" → a path that begins with `/`, such as /telex/webhook or /telex/:id',
    ],
    [
      'a path that is a pattern',
      { routes: [route('/telex/*')] },
      'channel telex: `routes[0].path` is "/telex/*" → a path that begins with `/`, such as /telex/webhook or /telex/:id',
    ],
    [
      'a body limit that is not a whole number',
      { routes: [{ ...route('/x'), bodyLimit: 1.5 }] },
      'channel telex: `routes[0].bodyLimit` is 1.5 → a whole number of bytes from 1 to 4194304, or absent',
    ],
    [
      'a body limit over 4 MiB',
      { routes: [{ ...route('/x'), bodyLimit: 4_194_305 }] },
      'channel telex: `routes[0].bodyLimit` is 4194305 → a whole number of bytes from 1 to 4194304, or absent',
    ],
    [
      'headers that are not a function',
      { routes: [{ ...route('/x'), headers: 1 }] },
      'channel telex: `routes[0].headers` is 1 → a function, or absent',
    ],
    [
      'a route without a handler',
      { routes: [{ method: 'GET', path: '/x' }] },
      'channel telex: `routes[0].handle` is missing → a function',
    ],
  ])('is refused: %s', (_what, channel, problem) => {
    expect(refusals(channelProblems(plugin('telex'), channel))).toEqual([problem]);
  });

  it('is refused without `send` if the channel answers later', () => {
    expect(refusals(channelProblems(plugin('telex', 'push'), { routes: [] }))).toEqual([
      "channel telex: `send` is missing → a function, since `delivery` is 'push'",
    ]);
  });
});

describe('the routes of all channels', () => {
  const active = (name: string, ...routes: Route[]) => ({ plugin: plugin(name), channel: { routes } });

  it('may share a path with different methods', () => {
    const channels = [
      active('a', route('/x'), route('/x', 'GET')),
      active('b', route('/x', 'DELETE'), route('/')),
    ];
    expect(refusals(routeProblems(channels))).toEqual([]);
  });

  it('are refused if two channels have the same route, even with different parameter names', () => {
    const channels = [active('a', route('/x/:id')), active('b', route('/x/:key'))];
    expect(refusals(routeProblems(channels))).toEqual([
      'channel b: the route POST /x/:key is taken by the channel a → another path',
    ]);
  });

  it('are refused if the daemon itself has the same route', () => {
    // Only the handlers use the parts.
    const parts = {} as never;
    const own = [
      route('/', 'GET'),
      feedbackRoute(parts, []),
      ...linkRoutes(parts),
      backChannelLogout(parts, () => Promise.reject(new Error('not called'))),
    ];
    expect(refusals(routeProblems([active('a', ...own)]))).toEqual(
      own.map(
        ({ method, path }) =>
          `channel a: the route ${method} ${path} is taken by the daemon itself → another path`,
      ),
    );
  });
});

it('a channel whose `start` never resolves does not keep the daemon from failing', async () => {
  const clock = new VirtualClock(0);
  const channel = { routes: [], send: async () => {}, start: () => new Promise<never>(() => {}) };
  const started = startChannel({ plugin: plugin('telex', 'push'), channel }, clock);
  clock.moveTo(60_000);
  await expect(started).rejects.toThrow(
    'the channel telex did not start: `start` did not resolve within 60 seconds',
  );
});
