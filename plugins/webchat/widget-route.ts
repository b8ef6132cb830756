import type { Route } from '../../src/channel/index.ts';
import { type Asset, assetResponse, loadAsset } from './asset.ts';

/** How long a browser uses the script without asking, seconds. Short, so that a new version is soon everywhere. */
const MAX_AGE = 600;

/** Any site may load the script. It contains no data of anybody. */
const HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Cache-Control': `public, max-age=${MAX_AGE}`,
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

/** The address for messages in the built script. */
const BUILT_MESSAGE_PATH = '/webchat/message';

/**
 * `GET /webchat/widget.js`: the widget as one file, which a site names in a script element.
 * @param messagePath WEBCHAT_WEBHOOK_PATH, which is written into the script
 */
export function widgetRoute(messagePath: string): Route {
  let loading: Promise<Asset> | null = null;
  const load = () =>
    loadAsset('widget/widget.js', 'text/javascript', (script) =>
      script.replaceAll(JSON.stringify(BUILT_MESSAGE_PATH), JSON.stringify(messagePath)),
    );
  return {
    method: 'GET',
    path: '/webchat/widget.js',
    async handle(request) {
      loading ??= load();
      return assetResponse(await loading, request, HEADERS);
    },
  };
}
