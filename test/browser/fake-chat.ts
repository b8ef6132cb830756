import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { withPartTexts, withTranslations } from '../../plugins/webchat/browser-files.ts';
import { continueTranslations, widgetTranslations } from '../../plugins/webchat/texts.ts';
import type { ChannelTranslations } from '../../src/channel/index.ts';

const WIDGET = resolve(import.meta.dirname, '../../dist/plugins/webchat/widget/widget.js');

/** A part of the widget, as the channel serves it. */
function servedPart(name: string, texts: ChannelTranslations): string {
  const part = readFileSync(WIDGET.replace('widget.js', `${name}.js`), 'utf8');
  const continued = continueTranslations(texts);
  return withPartTexts(part, { continued, translations: widgetTranslations(texts) });
}

const NO_TEXTS: ChannelTranslations = { languages: {}, default_locale: 'en' };

/** The widget's script, as the channel serves it. */
function servedWidget(texts: ChannelTranslations): string {
  return withTranslations(readFileSync(WIDGET, 'utf8'), widgetTranslations(texts));
}

/** A strict content security policy: no inline script or style, and nothing from other origins. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'";

/** The id that the fake gives to the answer of each run. */
export const MESSAGE_ID = 'turn-1';

export interface ReceivedMessage {
  path: string;
  key: string;
  body: Record<string, unknown>;
}

/** One run of the agent, controlled by a test. */
export class Run {
  readonly stream_id = `sse_${randomUUID()}`;
  readonly events: { id: number; frame: string }[] = [];
  readonly readers = new Set<ServerResponse>();
  readonly body: Record<string, unknown>;
  /** Resolves when the visitor has asked to stop the answer. */
  readonly stopAsked: Promise<void>;
  askToStop: () => void;
  starts = 0;
  response: string | null = null;
  failed = false;
  readonly #session: string;
  #said = '';

  constructor(body: Record<string, unknown>, session_id: string) {
    this.body = body;
    this.#session = session_id;
    const { promise, resolve: ask } = Promise.withResolvers<void>();
    this.stopAsked = promise;
    this.askToStop = ask;
  }

  get session_id(): string {
    return this.#session;
  }

  event(name: string, data: object): void {
    const id = this.events.length + 1;
    const frame = `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
    this.events.push({ id, frame });
    for (const reader of this.readers) reader.write(frame);
  }

  say(text: string): void {
    this.#said += text;
    this.event('text_chunk', { text });
  }

  tool(tool_name: string, status: string, more: object = {}): void {
    this.event('tool_call', { tool_name, status, ...more });
  }

  end(stopped = false): void {
    this.response = this.#said;
    const data = {
      stream_id: this.stream_id,
      session_id: this.#session,
      response: this.#said,
      ...(stopped ? { stopped } : {}),
      metadata: { message_id: MESSAGE_ID },
    };
    this.event('complete', data);
    this.event('stream_complete', data);
    this.drop();
  }

  fail(code: string): void {
    this.failed = true;
    this.event('error', { code, message: code });
    this.drop();
  }

  /** Ends the connections, as a proxy or a restart would. */
  drop(): void {
    for (const reader of this.readers) reader.end();
    this.readers.clear();
  }
}

export interface SitePage {
  /** Attributes of the widget's script element. */
  attributes: Record<string, string>;
  /** Attributes of the html element. */
  html: Record<string, string>;
  /** The site's own script. The page loads it before the widget's script. */
  script: string;
  style: string;
  /** The texts that the operator has replaced. */
  texts: ChannelTranslations;
}

/** Paths of the service. All other paths belong to the site. */
const SERVICE = /^\/(sse|webchat\/message|feedback)/;

function sessionNamed({ session_id }: Record<string, unknown>): string {
  return typeof session_id === 'string' ? session_id : `sse_${randomUUID()}`;
}

type Script = (run: Run) => Promise<void> | void;
type Refusal = { status: number; headers?: Record<string, string>; body?: object };

/**
 * A fake agentd with the HTTP interface of agentd-service(7), and a site with the widget. The test controls what the
 * agent answers. The fake stores the requests, and counts how often it ran each message.
 */
export class FakeChat {
  readonly received: ReceivedMessage[] = [];
  /** The bodies of `POST /feedback`. */
  readonly ratings: Record<string, unknown>[] = [];
  readonly runs = new Map<string, Run>();
  /** The behavior of the agent. */
  script: Script = (run) => {
    run.say('Fine.');
    run.end();
  };
  /** Replaces the response to a request. If it returns null, the fake service responds as usual. */
  refuse: (request: IncomingMessage) => Refusal | null = () => null;
  /**
   * Returns the id of the session that answers a message. A test replaces it to answer in a session other than the one
   * in the request, as agentd does when somebody signs in.
   */
  sessionOf: (body: Record<string, unknown>) => string = sessionNamed;
  /** True if the service is down: connections break without an answer. The site stays up. */
  away = false;
  /**
   * True if messages arrive, but the responses to them are lost. A message to `/webchat/message` is run all the same.
   */
  losesAnswers = false;
  /** The fake accepts a message only after this promise has resolved. */
  gate: Promise<void> = Promise.resolve();
  page: SitePage = { attributes: {}, html: {}, script: '', style: '', texts: NO_TEXTS };
  /** The token that `/token` returns, or null for status 204. */
  token: string | null = null;
  tokenAsked = 0;
  readonly #server: Server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((ready) => this.#server.listen(0, '127.0.0.1', ready));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get lastRun(): Run {
    const run = [...this.runs.values()].at(-1);
    if (run === undefined) throw new Error('no message has been run');
    return run;
  }

  /** Takes the service down, and breaks every open stream. */
  goAway(): void {
    this.away = true;
    for (const run of this.runs.values()) run.drop();
  }

  /** Restores the defaults. Called between tests. */
  reset(): void {
    this.received.length = 0;
    this.ratings.length = 0;
    this.runs.clear();
    this.script = (run) => {
      run.say('Fine.');
      run.end();
    };
    this.refuse = () => null;
    this.sessionOf = sessionNamed;
    this.away = false;
    this.losesAnswers = false;
    this.gate = Promise.resolve();
    this.page = { attributes: {}, html: {}, script: '', style: '', texts: NO_TEXTS };
    this.token = null;
    this.tokenAsked = 0;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const refusal = this.refuse(request);
    if (refusal !== null) return send(response, refusal);
    if (this.away && (SERVICE.test(url.pathname) || request.method === 'HEAD'))
      return void request.socket.destroy();
    const { method } = request;
    const [, stream_id] = /^\/sse\/stream\/(.+)$/.exec(url.pathname) ?? [];
    if (method === 'POST' && url.pathname === '/sse/chat') return this.#start(request, response, url);
    if (method === 'POST' && url.pathname === '/webchat/message') return this.#ask(request, response, url);
    if (method === 'POST' && url.pathname === '/feedback') return this.#rate(request, response);
    if (method === 'GET' && stream_id) return this.#stream(stream_id, url, response);
    if (method === 'DELETE' && stream_id) {
      this.#runOf(stream_id)?.askToStop();
      response.writeHead(204).end();
      return;
    }
    if (url.pathname === '/token') {
      this.tokenAsked++;
      return this.token === null
        ? void response.writeHead(204).end()
        : send(response, { status: 200, body: { token: this.token } });
    }
    this.#site(url.pathname, response);
  }

  async #rate(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    this.ratings.push(JSON.parse(text));
    send(response, { status: 200, body: {} });
  }

  async #start(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const run = await this.#receive(request, url);
    if (this.losesAnswers) return void request.socket.destroy();
    const { jwt_token } = run.body;
    const cookie = `jwt_token=${jwt_token}; Max-Age=3600; Path=/; HttpOnly; Secure; SameSite=Lax`;
    const headers = typeof jwt_token === 'string' ? { 'Set-Cookie': cookie } : {};
    send(response, { status: 200, headers, body: { stream_id: run.stream_id } });
  }

  async #ask(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const run = await this.#receive(request, url);
    if (run.starts > 0 && run.response === null && !run.failed)
      return send(response, problem(409, 'duplicate_in_progress'));
    await this.#begin(run);
    if (this.losesAnswers) return void request.socket.destroy();
    if (run.failed) return send(response, problem(502, 'agent_failed'));
    const { session_id } = run;
    send(response, {
      status: 200,
      body: { response: run.response ?? '', session_id, metadata: { message_id: MESSAGE_ID } },
    });
  }

  async #receive(request: IncomingMessage, url: URL): Promise<Run> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const body = JSON.parse(text) as Record<string, unknown>;
    const key = String(request.headers['idempotency-key']);
    this.received.push({ path: url.pathname, key, body });
    const known = this.runs.get(key);
    if (known) return known;
    await this.gate;
    const run = new Run(body, this.sessionOf(body));
    this.runs.set(key, run);
    return run;
  }

  /** Begins the run, unless it has begun: when its stream is opened, or for a request to `/webchat/message`. */
  async #begin(run: Run): Promise<void> {
    if (run.starts > 0) return;
    run.starts++;
    run.event('stream_start', { stream_id: run.stream_id, session_id: run.session_id });
    await this.script(run);
  }

  #stream(stream_id: string, url: URL, response: ServerResponse): void {
    const run = this.#runOf(stream_id);
    if (!run) {
      send(response, problem(404, 'stream_not_found'));
      return;
    }
    const after = Number(url.searchParams.get('last_event_id') ?? 0);
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
    response.write('retry: 1000\n\n');
    for (const { id, frame } of run.events) if (id > after) response.write(frame);
    if (run.response !== null || run.failed) return void response.end();
    run.readers.add(response);
    response.on('close', () => run.readers.delete(response));
    void this.#begin(run);
  }

  #runOf(stream_id: string): Run | undefined {
    return [...this.runs.values()].find((run) => run.stream_id === stream_id);
  }

  #site(path: string, response: ServerResponse): void {
    const { attributes, html, script, style, texts } = this.page;
    const [, language = ''] = /^\/webchat\/texts\/(.+)$/.exec(path) ?? [];
    const loaded = widgetTranslations(texts)[language];
    if (loaded) {
      send(response, { status: 200, body: loaded });
      return;
    }
    let file = {
      '/webchat/widget.js': ['text/javascript', servedWidget(texts)],
      '/site.js': ['text/javascript', script],
      '/site.css': ['text/css', style],
    }[path];
    const [, part] = /^\/webchat\/(card|continue|feedback|qr|tab)\.js$/.exec(path) ?? [];
    if (part) file = ['text/javascript', servedPart(part, texts)];
    if (file)
      return void response.writeHead(200, { 'Content-Type': `${file[0]}; charset=utf-8` }).end(file[1]);
    if (path === '/favicon.ico') return void response.writeHead(204).end();
    const page = `<!doctype html><html${attributesOf({ lang: 'en', ...html })}><head><title>A site</title>
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <link rel="stylesheet" href="/site.css"><script src="/site.js"></script>
      <script async src="/webchat/widget.js"${attributesOf(attributes)}></script></head>
      <body><main><h1>A site</h1><p>Some words.</p><a href="/elsewhere">Elsewhere</a> <button id="own">Own button</button></main></body></html>`;
    response
      .writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': POLICY })
      .end(page);
  }
}

function attributesOf(attributes: Record<string, string>): string {
  return Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`)
    .join('');
}

export function problem(
  status: number,
  code: string,
  headers: Record<string, string> = {},
  more: object = {},
): Refusal {
  return { status, headers, body: { status, code, ...more } };
}

function send(response: ServerResponse, { status, headers, body }: Refusal): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(body === undefined ? '' : JSON.stringify(body));
}
