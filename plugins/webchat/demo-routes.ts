import type {
  ChannelRequest,
  ChannelResponse,
  ChannelScope,
  DevCompany,
  Route,
} from '../../src/channel/index.ts';
import { assetResponse, loadAsset } from './asset.ts';

/** Strict on purpose: the widget works under it, and so under any policy of a site. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const FILES = [
  { path: '/demo', name: 'demo/index.html', type: 'text/html' },
  { path: '/demo/shop.css', name: 'demo/shop.css', type: 'text/css' },
  { path: '/demo/shop.js', name: 'demo/shop.js', type: 'text/javascript' },
] as const;

/**
 * The page to try the widget with, and what it asks for: a small shop in which one can sign in as a sample
 * person. Only with `serve --dev`: without it the scope lends no company, and there are no such routes.
 */
export function demoRoutes(scope: ChannelScope): Route[] {
  const { dev } = scope;
  if (!dev) return [];
  const guarded = (route: Route): Route => ({
    ...route,
    handle(request) {
      refuseForeignNames(request, scope);
      return route.handle(request);
    },
  });
  return [...FILES.map(fileRoute), ...companyRoutes(dev, scope)].map(guarded);
}

function fileRoute({ path, name, type }: (typeof FILES)[number]): Route {
  return {
    method: 'GET',
    path,
    // Read anew each time: it is there to be played with.
    handle: async (request) =>
      assetResponse(await loadAsset(name, type), request, {
        'Cache-Control': 'no-cache',
        'Content-Security-Policy': POLICY,
      }),
  };
}

function companyRoutes(dev: DevCompany, scope: ChannelScope): Route[] {
  return [
    { method: 'GET', path: '/demo/people', handle: () => ({ body: { people: dev.people } }) },
    {
      method: 'GET',
      path: '/demo/token/:person',
      async handle({ params }): Promise<ChannelResponse> {
        const token = await dev.issueToken(params.person ?? '');
        if (token === null)
          throw scope.problem('not_found', 'There is no such person, or no secret to sign with.');
        return { body: { token } };
      },
    },
    {
      method: 'GET',
      path: '/demo/asked',
      handle: ({ query }) => ({ body: { asked: dev.asked(Number(query.get('after')) || 0) } }),
    },
  ];
}

/**
 * A foreign site may point a name of its own at this address (DNS rebinding), and would then be of the same
 * origin as this page, tokens and all. A name that is not an address can only be `localhost`.
 */
function refuseForeignNames({ headers }: ChannelRequest, scope: ChannelScope): void {
  const name = (headers.host ?? '').replace(/:\d+$/, '');
  if (/^(localhost|[\d.]+|\[[\da-f:.]+\])$/i.test(name)) return;
  throw scope.problem('not_found', 'The page for trying is reached by address, or as localhost.');
}
