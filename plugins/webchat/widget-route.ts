import type { Route } from '../../src/channel/index.ts';
import { assetResponse, loadAsset } from './asset.ts';

/**
 * How long a browser uses the script without asking again, in seconds. The time is short, so that a new version soon
 * reaches all browsers.
 */
const MAX_AGE = 600;

/** Any site may load the script. It contains no personal data. */
const HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Cache-Control': `public, max-age=${MAX_AGE}`,
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

/** The built script contains this placeholder for the texts. */
const BUILT_TRANSLATIONS = JSON.stringify('agentd-translations');

/** The built script contains this path for messages. */
const BUILT_MESSAGE_PATH = '/webchat/message';

/**
 * `GET /webchat/widget.js`: the widget as one file, which a site names in a script element.
 * @param messagePath WEBCHAT_WEBHOOK_PATH, which is written into the script
 * @param translations texts of the widget, which are also written into the script
 */
export function widgetRoute(messagePath: string, translations: object): Route {
  const asset = loadAsset('widget/widget.js', 'text/javascript', (script) =>
    withTranslations(
      script.replaceAll(JSON.stringify(BUILT_MESSAGE_PATH), JSON.stringify(messagePath)),
      translations,
    ),
  );
  return {
    method: 'GET',
    path: '/webchat/widget.js',
    handle: async (request) => assetResponse(await asset(), request, HEADERS),
  };
}

/**
 * Inserts the texts of the widget into the script. Property names need no quotes in a script, which makes it smaller.
 */
export function withTranslations(script: string, translations: object): string {
  const literal = JSON.stringify(translations).replace(/"([a-z]\w*)":/gi, '$1:');
  return script.replaceAll(BUILT_TRANSLATIONS, () => literal);
}
