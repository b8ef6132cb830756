import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Browser, launch, withoutBrowser } from '../browser/browser.ts';
import { closeAtEnd } from '../support/close-at-end.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { Dictation } from '../support/dictation.ts';
import { isThorough } from '../support/effort.ts';
import { readAll, start } from '../support/event-stream.ts';
import { token } from '../support/tokens.ts';

// A signed-in visitor of the shop opens the page of an attacker who knows the id of a stream. Whatever that page makes
// the browser request, the run does not act for the visitor, and the page cannot read the answer.

/** Serves pages. The query of the address contains the body of the page. */
const servePage = (request: IncomingMessage, response: ServerResponse) => {
  const body = new URL(request.url ?? '/', 'http://pages').searchParams.get('body') ?? '';
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
  response.end(`<!doctype html><title>A page</title>${body}`);
};
const [shopPages, evilPages] = [createServer(servePage), createServer(servePage)];

let dictation: Dictation;
let daemon: DaemonHere;
let browser: Browser;
let shop: string;
let evilPort: number;

beforeAll(async () => {
  if (withoutBrowser) return;
  const [port, other] = await Promise.all([shopPages, evilPages].map(listen));
  shop = `http://127.0.0.1:${port}`;
  evilPort = other ?? 0;
  dictation = await Dictation.start();
  daemon = await startDaemonHere({
    env: {
      ...dictation.env,
      SSE_ENABLED: 'true',
      WEBCHAT_ALLOWED_ORIGINS: shop,
      LOOP_GUARD_ENABLED: 'false',
    },
  });
  browser = await launch({ reducedMotion: null });
});
async function listen(server: Server): Promise<number> {
  server.listen(0);
  await once(server, 'listening');
  closeAtEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const chat = () => `${daemon.url}/sse/chat`;

/**
 * The visitor asks a question in the shop. The page of the shop sends the visitor's token, and the browser stores it as
 * a cookie.
 */
async function askAsVisitor(): Promise<string> {
  const page = await browser.context.newPage();
  await page.goto(shop);
  const body = { user_id: 'visitor', message: 'me', jwt_token: await token({ sub: 'ada' }) };
  const stream_id = await page.evaluate(
    async ([url, sent]) => {
      const options = {
        method: 'POST',
        credentials: 'include',
        headers: { 'Content-Type': 'application/json' },
      };
      const response = await fetch(url as string, { ...options, body: sent } as RequestInit);
      return ((await response.json()) as { stream_id: string }).stream_id;
    },
    [chat(), JSON.stringify(body)],
  );
  const answer = await page.evaluate(
    (url) =>
      new Promise<string>((resolve, reject) => {
        const events = new EventSource(url, { withCredentials: true });
        events.addEventListener('complete', (event) => {
          events.close();
          resolve(JSON.parse((event as MessageEvent).data as string).response);
        });
        events.onerror = () => reject(new Error('the stream cannot be read'));
      }),
    `${daemon.url}/sse/stream/${stream_id}`,
  );
  await page.close();
  return answer;
}

/** Ways in which a page can make the browser navigate to another address. */
const NAVIGATIONS: Record<string, (url: string) => string> = {
  'a link': (url) => `<a id="go" href="${url}">A prize</a>`,
  'a link in a new tab': (url) => `<a id="go" target="_blank" href="${url}">A prize</a>`,
  'a form': (url) => `<form action="${url}"><button id="go">A prize</button></form>`,
  'a redirection': (url) => `<meta http-equiv="refresh" content="0;url=${url}">`,
};

/** Requests that a page makes by itself: an image, a frame, a style sheet, and scripts that send or read. */
const REQUESTS: readonly ((url: string) => string)[] = [
  (url) => `<img src="${url}">`,
  (url) => `<iframe src="${url}"></iframe>`,
  (url) => `<link rel="stylesheet" href="${url}">`,
  (url) => `<script>fetch(${JSON.stringify(url)}, { credentials: 'include', mode: 'no-cors' })</script>`,
  (url) =>
    `<script>fetch(${JSON.stringify(url)}, { credentials: 'include' }).then((r) => r.text()).then((t) => document.title += t)</script>`,
  (url) =>
    `<script>new EventSource(${JSON.stringify(url)}, { withCredentials: true }).onmessage = ({ data }) => document.title += data</script>`,
];

describe.skipIf(withoutBrowser)('in a browser that is signed in', () => {
  it('a page of the site reads the visitor’s stream with the cookie', async () => {
    expect(await askAsVisitor()).toBe('ada@example.com');
    const cookies = await browser.context.cookies(daemon.url);
    expect(cookies.find(({ name }) => name === 'jwt_token')).toMatchObject({
      httpOnly: true,
      sameSite: 'Lax',
    });
  });

  // A page on another port has another origin, but is the same site: the browser sends the cookie with every request. A
  // page on another host name is another site: the browser sends the cookie only when it navigates.
  const elsewhere = { 'another port': '127.0.0.1', 'another host name': 'localhost' };

  describe.each(Object.entries(elsewhere))('on %s', (_where, host) => {
    // The daemon reads the same headers of a navigation from any other origin.
    it.runIf(isThorough || host === 'localhost').each(Object.entries(NAVIGATIONS))(
      '%s to a stream does not act for the visitor',
      async (_attack, bodyFor) => {
        await attack(host, [bodyFor]);
      },
    );

    it('requests for a stream do not act for the visitor if a page makes them by itself', async () => {
      await attack(host, REQUESTS);
    });
  });
});

/**
 * Opens a page that makes the browser request streams. Checks that the page reads nothing, and that no run acts for the
 * visitor.
 */
async function attack(host: string, bodies: readonly ((url: string) => string)[]): Promise<void> {
  const streams = await Promise.all(
    bodies.map(() => start(daemon.url, { user_id: 'visitor', message: 'me' })),
  );
  const urls = streams.map((stream_id) => `${daemon.url}/sse/stream/${stream_id}`);
  const asked = Promise.all(urls.map(requestOf));
  const page = await browser.context.newPage();
  const body = bodies.map((bodyFor, index) => bodyFor(urls[index] as string)).join('');
  await page.goto(`http://${host}:${evilPort}/?body=${encodeURIComponent(body)}`, { waitUntil: 'commit' });
  if (body.includes('id="go"')) await page.click('#go');
  await asked;
  expect(await page.title().catch(() => '')).not.toContain('ada');
  for (const stream_id of streams) {
    const { events } = await readAll(daemon.url, stream_id);
    expect(events.at(-1)?.data.response).toBe('nobody');
  }
  await browser.leave();
}

/**
 * Resolves when the browser has received a response from the address, or the request has failed, even if no page can
 * read the response.
 */
function requestOf(address: string): Promise<unknown> {
  const isIt = (request: { url(): string }) => request.url().startsWith(address);
  return Promise.race(
    (['response', 'requestfailed'] as const).map((name) =>
      browser.context.waitForEvent(name as 'response', isIt).catch(() => {
        throw new Error('the browser sent no request');
      }),
    ),
  );
}
