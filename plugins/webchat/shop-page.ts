import type { Route } from '../../src/channel/index.ts';
import { pageRoute } from './browser-files.ts';

const FILES = [
  { path: '/demo', name: 'demo/index.html', type: 'text/html' },
  { path: '/demo/shop.css', name: 'demo/shop.css', type: 'text/css' },
  { path: '/demo/shop.js', name: 'demo/shop.js', type: 'text/javascript' },
] as const;

/**
 * The page of the sample shop, which embeds the widget. Only `serve --dev` serves the page and answers its requests.
 */
export const routes: readonly Route[] = FILES.map(pageRoute);
