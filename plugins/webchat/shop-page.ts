import type { Route } from '../../src/channel/index.ts';
import { assetResponse, loadAsset } from './browser-files.ts';

/** This policy is strict on purpose: if the widget works under it, it works under the policy of any site. */
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
 * The page of the sample shop, which embeds the widget. Only `serve --dev` serves the page and answers its requests.
 */
export const routes: readonly Route[] = FILES.map(({ path, name, type }) => {
  const asset = loadAsset(name, type);
  return {
    method: 'GET',
    path,
    handle: async (request) =>
      assetResponse(await asset(), request, {
        'Cache-Control': 'no-cache',
        'Content-Security-Policy': POLICY,
      }),
  };
});
