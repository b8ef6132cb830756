import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { chatPage, partRoutes, textsRoute, widgetRoute } from '../../plugins/webchat/browser-files.ts';
import { widgetTranslations } from '../../plugins/webchat/texts.ts';
import type { ChannelRequest, ChannelResponse, Route } from '../../src/channel/index.ts';

/** The maximum size of the gzipped widget in bytes: 22.5 kB, as in the manual. */
const MAX_BYTES = 22_500;

async function get(headers: Record<string, string> = {}, path = '/webchat/message') {
  const translations = widgetTranslations({ languages: {}, default_locale: 'en' });
  const route = widgetRoute(path, translations);
  const response: ChannelResponse = await route.handle({ headers } as unknown as ChannelRequest);
  return {
    status: response.status ?? 200,
    headers: response.headers ?? {},
    body: response.body as Uint8Array,
  };
}

describe('GET /webchat/widget.js', () => {
  it('returns at most 22.5 kB gzipped', async () => {
    const { headers, body } = await get({ 'accept-encoding': 'gzip' });
    expect(headers['Content-Encoding']).toBe('gzip');
    expect(body.byteLength).toBeLessThanOrEqual(MAX_BYTES);
  });

  it('returns the same script in every encoding', async () => {
    const plain = Buffer.from((await get()).body);
    const brotli = await get({ 'accept-encoding': 'gzip, deflate, br;q=0.9' });
    expect(brotli.headers['Content-Encoding']).toBe('br');
    expect(brotliDecompressSync(brotli.body).equals(plain)).toBe(true);
    const gzip = await get({ 'accept-encoding': 'br;q=0, gzip' });
    expect(gunzipSync(gzip.body).equals(plain)).toBe(true);
    expect((await get()).headers['Content-Encoding']).toBeUndefined();
  });

  it('allows any site to load the script, and browsers to cache it for ten minutes and revalidate it with its ETag', async () => {
    const { headers } = await get();
    expect(headers).toMatchObject({
      'Content-Type': 'text/javascript; charset=utf-8',
      'Access-Control-Allow-Origin': '*',
      'Cache-Control': 'public, max-age=600',
      'Cross-Origin-Resource-Policy': 'cross-origin',
      Vary: 'Accept-Encoding',
    });
    const again = await get({ 'if-none-match': `W/"other", ${String(headers.ETag)}` });
    expect(again).toMatchObject({ status: 304, body: undefined });
  });

  it('returns a script that posts to WEBCHAT_WEBHOOK_PATH', async () => {
    const script = Buffer.from((await get({}, '/talk/here')).body).toString();
    expect(script).toContain('"/talk/here"');
    expect(script).not.toContain('"/webchat/message"');
  });

  it('returns a script that treats no text as HTML or as code', async () => {
    const script = Buffer.from((await get()).body).toString();
    expect(script).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser|createContextualFragment/,
    );
  });
});

describe('GET /webchat/<part>.js', () => {
  const translations = widgetTranslations({ languages: {}, default_locale: 'en' });
  const card = partRoutes({ continued: {}, translations })[0] as Route;
  const statusOf = async (query: string) => {
    const request = { headers: {}, query: new URLSearchParams(query) } as unknown as ChannelRequest;
    const { status = 200, headers } = await card.handle(request);
    return [status, headers?.['Cache-Control']];
  };

  it('returns a part of the version that the script names, and never that of another version', async () => {
    const script = Buffer.from((await get()).body).toString();
    const version = /\.js\?v=([\w-]{8})&/.exec(script)?.[1];
    expect(await statusOf(`v=${version}&0`)).toEqual([200, 'public, max-age=600']);
    expect(await statusOf('')).toEqual([200, 'public, max-age=600']);
    expect(await statusOf('v=AbCdEfGh&0')).toEqual([404, 'no-store']);
  });
});

describe('GET /chat', () => {
  const file = async (path: string, looks: Parameters<typeof chatPage>[1]) => {
    const languages = { de: { webchat_title: 'Rat & <Tat>' } };
    const routes = chatPage(widgetTranslations({ languages, default_locale: 'de' }), looks);
    const route = routes.find((one) => one.path === path) as Route;
    const { body } = await route.handle({ headers: {} } as unknown as ChannelRequest);
    return Buffer.from(body as Uint8Array).toString();
  };
  const page = (sign_in_url: string | null) => file('/chat', { sign_in_url, accent: null });

  it('has the title and the language of the operator, and leads to SIGN_IN_URL', async () => {
    const html = await page('https://www.example.com/account?from=chat&tab="1"');
    expect(html).toContain('<html lang="de">');
    expect(html).toContain('<title>Rat &#38; &#60;Tat&#62;</title>');
    expect(html).toContain(
      ' data-sign-in-url="https://www.example.com/account?from=chat&#38;tab=&#34;1&#34;"',
    );
    expect(html).not.toMatch(/[{}]/);
  });

  it('has no button for sign-in without SIGN_IN_URL', async () => {
    expect(await page(null)).not.toContain('data-sign-in-url');
  });

  it('has the color of WEBCHAT_PAGE_ACCENT', async () => {
    const style = (accent: string | null) => file('/chat/page.css', { sign_in_url: null, accent });
    expect(await style(null)).not.toContain('--agentd-accent');
    expect(await style('#7a4f0c')).toMatch(/:root \{\n {2}--agentd-accent: #7a4f0c;\n\}\n$/);
  });
});

describe('GET /webchat/texts/<language>', () => {
  const translations = widgetTranslations({
    languages: { de: { widget_title: 'Hilfe' } },
    default_locale: 'en',
  });
  const ask = (language: string) =>
    textsRoute(translations).handle({ params: { language } } as unknown as ChannelRequest);

  it('returns the texts of a language that is served', async () => {
    expect(await ask('de')).toMatchObject({ body: translations.de });
  });

  it.each(['fr', '', '__proto__', 'constructor', 'toString', '__defineGetter__'])(
    'answers 404 for `%s`, which is none',
    async (language) => {
      expect(await ask(language)).toMatchObject({ status: 404, body: {} });
    },
  );
});
