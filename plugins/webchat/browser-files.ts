import { hash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { type ChannelRequest, type ChannelResponse, fillIn, type Route } from '../../src/channel/index.ts';
import type { ContinueTexts } from './widget/continue/texts.ts';
import { pickTexts, type Texts, type Translations } from './widget/texts.ts';

/** The folder to which `npm run build` writes files for browsers, relative to the source file or the built file. */
const BUILT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/plugins/webchat/' : './',
  import.meta.url,
);

/** A file for browsers, already compressed. */
export interface Asset {
  type: string;
  etag: string;
  /** By content encoding, best first. `identity` is always present. */
  encoded: readonly (readonly [encoding: 'br' | 'gzip' | 'identity', bytes: Uint8Array])[];
}

/**
 * Reads a built file at once, so that the daemon serves the file of its own build even after an upgrade. It is
 * compressed when it is first requested. A checkout that was not built has no such file: then only requests for it fail.
 * @param name path below the plugin's folder
 * @param rewrite changes the text of the file before it is served
 */
function loadAsset(
  name: string,
  type: string,
  rewrite: (text: string) => string = (text) => text,
): () => Promise<Asset> {
  const content = readBuilt(name);
  let asset: Promise<Asset> | undefined;
  return () => {
    if (content === null)
      throw new Error(`${new URL(name, BUILT).pathname} is missing: run \`npm run build\``);
    asset ??= compressed(Buffer.from(rewrite(content)), type);
    return asset;
  };
}

function readBuilt(name: string): string | null {
  const file = new URL(name, BUILT);
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

async function compressed(bytes: Uint8Array, type: string): Promise<Asset> {
  return {
    type: `${type}; charset=utf-8`,
    etag: `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`,
    encoded: [
      ['br', await promisify(brotliCompress)(bytes)],
      // With less memory, gzip makes shorter blocks, which compress a script that contains a style sheet better.
      ['gzip', await promisify(gzip)(bytes, { level: 9, memLevel: 6 })],
      ['identity', bytes],
    ],
  };
}

/** The response that serves an asset: 304 if the browser has it, else the best encoding that the browser accepts. */
export function assetResponse(
  { type, etag, encoded }: Asset,
  request: ChannelRequest,
  headers: Readonly<Record<string, string>>,
): ChannelResponse {
  const common = { ...headers, ETag: etag, Vary: 'Accept-Encoding' };
  if (request.headers['if-none-match']?.includes(etag)) return { status: 304, headers: common };
  const accepted = parseEncodings(request.headers['accept-encoding']);
  const [encoding, body] = encoded.find(([name]) => accepted.has(name)) ?? ['identity', new Uint8Array()];
  return {
    headers: {
      ...common,
      'Content-Type': type,
      ...(encoding === 'identity' ? {} : { 'Content-Encoding': encoding }),
    },
    body,
  };
}

/** Encodings that the client accepts. An encoding with weight 0 is not accepted. */
function parseEncodings(header = ''): Set<string> {
  const names = header
    .split(',')
    .map((entry) =>
      entry
        .toLowerCase()
        .split(';')
        .map((part) => part.trim()),
    )
    .filter(([, weight = 'q=1']) => Number(weight.slice(2)) > 0)
    .map(([name = '']) => name);
  return new Set([...names, 'identity']);
}

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
export function widgetRoute(messagePath: string, translations: Translations): Route {
  const asset = loadAsset('widget/widget.js', 'text/javascript', (script) =>
    withTranslations(
      script
        .replaceAll(JSON.stringify(BUILT_MESSAGE_PATH), JSON.stringify(messagePath))
        .replaceAll('agentd-parts', PARTS_VERSION),
      translations,
    ),
  );
  return {
    method: 'GET',
    path: '/webchat/widget.js',
    handle: async (request) => assetResponse(await asset(), request, HEADERS),
  };
}

/** The parts of the widget, which it loads when it needs them. */
const PARTS = ['card', 'continue', 'feedback', 'qr', 'tab'];

/** Changes with each build in which a part is another. */
const PARTS_VERSION = hash(
  'sha256',
  PARTS.map((part) => readBuilt(`widget/${part}.js`) ?? '').join(),
  'base64url',
).slice(0, 8);

export interface PartTexts {
  /** Of the part `continue`, by language. */
  continued: Readonly<Record<string, ContinueTexts>>;
  /** Of the widget, by language. */
  translations: Translations;
}

/**
 * `GET /webchat/<part>.js`. A page that was opened before an upgrade asks for a part of its own version, and is refused.
 * The widget then goes on without the part, and a question stays in words.
 */
export function partRoutes(texts: PartTexts): Route[] {
  return PARTS.map((part) => {
    const asset = loadAsset(`widget/${part}.js`, 'text/javascript', (script) => withPartTexts(script, texts));
    return {
      method: 'GET',
      path: `/webchat/${part}.js`,
      async handle(request) {
        const isOther = (request.query.get('v') ?? PARTS_VERSION) !== PARTS_VERSION;
        return isOther ? OTHER_VERSION : assetResponse(await asset(), request, HEADERS);
      },
    };
  });
}

/** Another replica may have that version, so the refusal is not kept. */
const OTHER_VERSION: ChannelResponse = {
  status: 404,
  headers: { ...HEADERS, 'Cache-Control': 'no-store' },
  body: {},
};

/** Inserts the texts into a part, instead of the placeholders that its built script has. */
export function withPartTexts(script: string, { continued, translations }: PartTexts): string {
  const [texts] = Object.values(translations);
  return script
    .replaceAll('"agentd-continue-texts"', () => JSON.stringify(continued))
    .replaceAll('"agentd-part-texts"', () => JSON.stringify(texts && pickTexts(texts, true)));
}

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

interface PageFile {
  path: string;
  /** Path below the plugin's folder. */
  name: string;
  type: string;
  /** Changes the text of the file before it is served. */
  rewrite?: (text: string) => string;
}

/** A file of a page that the daemon serves itself. */
export function pageRoute({ path, name, type, rewrite }: PageFile): Route {
  const asset = loadAsset(name, type, rewrite);
  return {
    method: 'GET',
    path,
    handle: async (request) =>
      assetResponse(await asset(), request, {
        'Cache-Control': 'no-cache',
        'Content-Security-Policy': POLICY,
      }),
  };
}

/** How the operator wants the page `GET /chat`. */
interface PageLooks {
  /** Where the button “Sign in” leads. Null: there is none. */
  sign_in_url: string | null;
  /** A color as CSS. Null: that of the widget. */
  accent: string | null;
}

/** `GET /chat`: the chat as a page of its own, with `WEBCHAT_PAGE`. */
export function chatPage(translations: Translations, { sign_in_url, accent }: PageLooks): Route[] {
  const [language = ''] = Object.keys(translations);
  const values = {
    title: escapeHtml(translations[language]?.title ?? ''),
    sign_in_url: escapeHtml(sign_in_url ?? ''),
  };
  const rewrite = (html: string) => {
    const whole = html.replace('lang="en"', `lang="${language}"`);
    return fillIn(
      sign_in_url === null ? whole.replace(' data-sign-in-url="{sign_in_url}"', '') : whole,
      values,
    );
  };
  return [
    { path: '/chat', name: 'chat/index.html', type: 'text/html', rewrite },
    {
      path: '/chat/page.css',
      name: 'chat/page.css',
      type: 'text/css',
      rewrite: (css: string) => (accent === null ? css : `${css}:root {\n  --agentd-accent: ${accent};\n}\n`),
    },
  ].map(pageRoute);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** `GET /webchat/texts/<language>`: the texts of the widget in a language other than the default. */
export function textsRoute(translations: Translations): Route {
  return {
    method: 'GET',
    path: '/webchat/texts/:language',
    handle: async ({ params: { language = '' } }) => {
      const texts = Object.hasOwn(translations, language) ? translations[language] : undefined;
      return texts ? { headers: HEADERS, body: texts } : { status: 404, headers: HEADERS, body: {} };
    },
  };
}

/**
 * Inserts the texts in the default language into the script. Property names need no quotes in a script, which makes it
 * smaller.
 */
export function withTranslations(script: string, translations: Translations): string {
  const [language = '', ...others] = Object.keys(translations);
  const served = { language, texts: pickTexts(translations[language] as Texts, false), others };
  const literal = JSON.stringify(served).replace(/"([a-z]\w*)":/gi, '$1:');
  return script.replaceAll(BUILT_TRANSLATIONS, () => literal);
}
