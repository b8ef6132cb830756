import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pino from 'pino';
import type {
  ChannelPlugin,
  ChannelSettings,
  PlatformSimulator,
  SimulatedApi,
  SimulatedRequest,
} from '../../src/channel/index.ts';
import { type Daemon, startDaemon } from '../../src/daemon/serve.ts';
import { configure } from '../../src/daemon/settings/configure/configure.ts';
import { SECRET } from '../support/daemon.ts';
import { settingsOf } from '../support/fake-platform.ts';
import { PLATFORMS } from '../support/platforms.ts';
import { Connection, type Request, type Response } from './connection.ts';
import { giveUpAfter } from './give-up-after.ts';
import { dataMark, hasToken, MARK } from './marks.ts';
import {
  AUDIENCE,
  emailOf,
  historyOf,
  ISSUER,
  isCovered,
  originOf,
  type Person,
  type Renewal,
  readBearer,
  renewalOf,
  type SignOut,
} from './tokens.ts';

/** A page of this origin may call the web channels. */
export const ALLOWED_ORIGIN = 'https://shop.example.com';

export const HOUR_MS = 3_600_000;
/** A message that is not answered within this time counts as lost. */
const ANSWER_SECONDS = 20;

export interface Platform {
  plugin: ChannelPlugin;
  simulator: PlatformSimulator;
  settings: ChannelSettings;
  api: SimulatedApi;
}

/** A reply on a platform, as people see it. */
export interface Delivered {
  to: string;
  thread: string | null;
  text: string;
  /** The payloads of its buttons. */
  buttons: readonly string[];
}

/** The requests of one history to the business API. */
export interface ApiCalls {
  /** Calls with a person's token, by person. */
  byPerson: Map<Person, number>;
  /** The tokens without a valid person: forged, expired, or with another issuer or audience. */
  refused: string[];
  /** Persons whose token was used after they had signed out at the site. */
  afterSignOut: Person[];
  /** Sign-outs that the service has confirmed. */
  signOuts: SignOut[];
  /** How the site renews the tokens of each person; by default, it does. */
  renewals: Map<string, Renewal>;
}

/** Everything that people see in a chat, in order. */
export class Chat {
  readonly shown: Delivered[] = [];
  #changed = Promise.withResolvers<void>();

  add(delivered: Delivered): void {
    this.shown.push(delivered);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Waits for the first message from this position that is meant. Null if there is none in time. */
  async next(from: number, isMeant: (delivered: Delivered) => boolean): Promise<Delivered | null> {
    let isOver = false;
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const stopWaiting = giveUpAfter(ANSWER_SECONDS, () => {
      isOver = true;
      resolve();
    });
    try {
      for (;;) {
        const found = this.shown.slice(from).find(isMeant);
        if (found || isOver) return found ?? null;
        await Promise.race([this.#changed.promise, over]);
      }
    } finally {
      stopWaiting();
    }
  }
}

/** Nothing listens at these addresses. Calls to them are answered in this process. */
const platformUrl = (index: number) => `http://127.0.0.1:${12 + index}`;
const RENEWAL_PATH = '/token';
const SERVICE_TOKEN = 'the-token-of-the-default-credentials';

/**
 * The service with its surroundings, in this process: a daemon with a real store, the business API, the platforms, and
 * a clock that can be set forward. All histories share it, and each history uses its own persons, users, numbers and
 * threads.
 */
export class World {
  readonly platforms: ReadonlyMap<string, Platform>;
  /** Log lines that contain something that looks like a token, which is not allowed. */
  readonly tokensInLog: string[] = [];
  /** How often a message lost its claim, because the machine paused this process for longer than claims live. */
  lostClaims = 0;
  readonly #directory: string;
  readonly #env: Record<string, string>;
  readonly #idle: Connection[] = [];
  readonly #calls = new Map<number, ApiCalls>();
  readonly #awaited = new Map<string, (delivered: Delivered) => void>();
  readonly #chats = new Map<string, Chat>();
  readonly #restore: () => void;
  readonly #api: Server;
  #daemon: Daemon | null = null;
  #server: Server | null = null;
  #offset = 0;

  private constructor(
    directory: string,
    platforms: ReadonlyMap<string, Platform>,
    env: Record<string, string>,
    api: Server,
  ) {
    this.#api = api.on('request', async (request, response) => {
      const url = new URL(request.url ?? '/', env.API_BASE_URL);
      const sent = await text(request);
      const { status, body } =
        url.pathname === RENEWAL_PATH
          ? this.#renew(new URLSearchParams(sent).get('subject_token') ?? '')
          : this.#answerAsApi(url, request.headers.authorization ?? '');
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    });
    this.#directory = directory;
    this.platforms = platforms;
    this.#env = env;
    const { fetch } = globalThis;
    const { now } = Date;
    globalThis.fetch = (input, init) => this.#fetch(new URL(String(input)), init ?? {});
    Date.now = () => now() + this.#offset;
    this.#restore = () => {
      globalThis.fetch = fetch;
      Date.now = now;
    };
  }

  /** @param settings settings of the daemon, in addition to the settings that all histories need */
  static async open(settings: Readonly<Record<string, string>> = {}): Promise<World> {
    const directory = mkdtempSync(join(memoryDirectory(), 'agentd-principals-'));
    mkdirSync(join(directory, 'state'), { mode: 0o700 });
    const platforms = new Map<string, Platform>();
    const api = createServer().listen(0, '127.0.0.1');
    // On a busy machine, a connection would be closed while a request is on its way.
    api.keepAliveTimeout = 0;
    await once(api, 'listening');
    const base = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    const env: Record<string, string> = {
      HOME: directory,
      STATE_DIR: join(directory, 'state'),
      NODE_ENV: 'test',
      PORT: '0',
      JWT_SECRET_KEY: SECRET,
      JWT_ALGORITHM: 'HS256',
      JWT_ISSUER: ISSUER,
      JWT_AUDIENCE: AUDIENCE,
      TOKEN_ENCRYPTION_KEY: createHash('sha256').update('principals').digest('base64'),
      WEBCHAT_ENABLED: 'true',
      SSE_ENABLED: 'true',
      WEBCHAT_ALLOWED_ORIGINS: ALLOWED_ORIGIN,
      LOOP_GUARD_ENABLED: 'false',
      TOKEN_RENEWAL_CLIENT_ID: 'agentd',
      TOKEN_RENEWAL_CLIENT_SECRET: 'the-secret-of-agentd',
      RATE_LIMIT_ANONYMOUS_MAX: '1000000000',
      RATE_LIMIT_TOKEN_MAX: '1000000000',
      AGENT_RUNTIME: join(import.meta.dirname, 'disclosing-agent.ts'),
      AGENT_CONCURRENCY: '1000',
      AGENT_QUEUE_MAX: '10000',
      API_BASE_URL: base,
      TOKEN_RENEWAL_URL: `${base}${RENEWAL_PATH}`,
      API_EMAIL: 'service@example.com',
      API_PASSWORD: 'service-password',
      // The timeout is long, because a busy machine may suspend this process for a long time.
      API_TIMEOUT_SECONDS: '120',
      ...settings,
    };
    for (const [index, { plugin }] of PLATFORMS.entries()) {
      const simulator = await plugin.simulator?.();
      if (!simulator) throw new Error(`the channel ${plugin.name} has no simulator`);
      const own = simulator.devSettings(deriveSecret, platformUrl(index));
      Object.assign(env, own);
      const settings = settingsOf(plugin, own);
      platforms.set(plugin.name, { plugin, simulator, settings, api: simulator.startApi(settings) });
    }
    const world = new World(directory, platforms, env, api);
    try {
      await world.#start();
    } catch (error) {
      world.#restore();
      throw error;
    }
    return world;
  }

  /** Sends a request from a client address. */
  async request(address: string, request: Request): Promise<Response> {
    const connection = this.#idle.pop() ?? this.#connect();
    connection.remoteAddress = address;
    const stopWaiting = giveUpAfter(ANSWER_SECONDS, () => connection.destroy());
    try {
      return await connection.request(request);
    } finally {
      stopWaiting();
      if (!connection.destroyed) this.#idle.push(connection);
    }
  }

  /** Delivers a request of a platform, and resolves to the daemon's answer. */
  deliver({ method, path, headers, body }: SimulatedRequest): Promise<Response> {
    return this.request('192.0.2.1', { method, path, headers, body });
  }

  /**
   * Waits for the reply whose first mark is this mark. `reply` resolves to null if there is none in time. Call this
   * before the message is delivered.
   */
  replyTo(mark: string): { reply: Promise<Delivered | null>; cancel(): void } {
    const { promise, resolve } = Promise.withResolvers<Delivered | null>();
    const stopWaiting = giveUpAfter(ANSWER_SECONDS, () => resolve(null));
    const end = () => {
      stopWaiting();
      this.#awaited.delete(mark);
    };
    this.#awaited.set(mark, (delivered) => {
      end();
      resolve(delivered);
    });
    return { reply: promise, cancel: end };
  }

  /** Calls of the business API so far in one history. */
  callsOf(history: number): ApiCalls {
    let calls = this.#calls.get(history);
    if (!calls) {
      calls = {
        ...{ byPerson: new Map(), refused: [], afterSignOut: [], signOuts: [], renewals: new Map() },
      };
      this.#calls.set(history, calls);
    }
    return calls;
  }

  /** Follows a private chat, which has one or more names on its platform. */
  follow(platform: string, rooms: readonly string[]): Chat {
    const names = rooms.map((room) => `${platform} ${room}`);
    const chat = names.map((name) => this.#chats.get(name)).find(Boolean) ?? new Chat();
    for (const name of names) this.#chats.set(name, chat);
    return chat;
  }

  /** Drops the records of a history that has ended. */
  forget(history: number, chats: readonly Chat[]): void {
    this.#calls.delete(history);
    for (const [name, chat] of this.#chats) if (chats.includes(chat)) this.#chats.delete(name);
  }

  /** Stops the daemon as SIGTERM does, and starts it again on the same state. */
  async restart(): Promise<void> {
    await this.#stop();
    await this.#start();
  }

  /** Moves the clock by a little more than an hour. */
  passHour(): void {
    this.#offset += HOUR_MS + 5000;
  }

  async close(): Promise<void> {
    await this.#stop();
    this.#api.close();
    this.#api.closeAllConnections();
    this.#restore();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const configuration = await configure({ cwd: this.#directory, env: this.#env });
    const log = pino({ level: 'info', base: null }, { write: (line: string) => this.#examine(line) });
    this.#daemon = await startDaemon(configuration, log);
    // Node.js publishes the server object on a diagnostics channel when a request starts. The connections in this
    // process need that object, so the first request uses a real socket.
    let server: unknown = null;
    const listener = (message: unknown) => {
      server = (message as { server: unknown }).server;
    };
    subscribe('http.server.request.start', listener);
    const [response] = await once(get(this.#daemon.url), 'response');
    response.resume();
    await once(response, 'end');
    unsubscribe('http.server.request.start', listener);
    this.#server = server as Server;
  }

  async #stop(): Promise<void> {
    for (const connection of this.#idle.splice(0)) connection.destroy();
    await this.#daemon?.stop();
    this.#daemon = null;
  }

  #connect(): Connection {
    const connection = new Connection();
    this.#server?.emit('connection', connection);
    return connection;
  }

  #examine(line: string): void {
    if (hasToken(line)) this.tokensInLog.push(line);
    if (line.includes('a claim was lost')) this.lostClaims++;
  }

  async #fetch(url: URL, { method = 'GET', headers, body }: RequestInit): Promise<globalThis.Response> {
    const given = Object.fromEntries(new Headers(headers));
    const index = [...this.platforms.keys()].findIndex((_name, at) => platformUrl(at) === url.origin);
    const [name = '', platform] = [...this.platforms][index] ?? [];
    if (!platform) throw new TypeError(`fetch failed: nobody is at ${url.origin}`);
    const bytes = await new globalThis.Response(body ?? null).bytes();
    const path = `${url.pathname}${url.search}`;
    const answer = platform.api.answer({ method, path, headers: given, body: bytes });
    for (const { what, to, thread = null, text, buttons = [] } of answer.shown) {
      if (what !== 'message') continue;
      const delivered = { to, thread, text, buttons: buttons.map(({ press }) => press) };
      this.#chats.get(`${name} ${to}`)?.add(delivered);
      const mark = MARK.exec(text)?.[0];
      if (mark) this.#awaited.get(mark)?.(delivered);
    }
    const { status, body: json, headers: more = {} } = answer;
    return new globalThis.Response(JSON.stringify(json), {
      status,
      headers: { 'Content-Type': 'application/json', ...more },
    });
  }

  /** Answers as the token endpoint of the site. */
  #renew(token: string): ApiAnswer {
    const holder = readBearer(token);
    if (holder === null) return answer(400, { error: 'invalid_request' });
    const { renewals, signOuts, afterSignOut } = this.callsOf(holder.history);
    if (isCovered(originOf(token), signOuts)) afterSignOut.push(holder.person);
    return renewalOf(token, renewals.get(holder.person) ?? 'issued');
  }

  /** Answers as the business API: it shows each person their own data, and the service account everybody's data. */
  #answerAsApi(url: URL, authorization: string): ApiAnswer {
    if (url.pathname === '/authentication_token') return answer(200, { token: SERVICE_TOKEN });
    const bearer = authorization.replace(/^Bearer /, '');
    const email = url.searchParams.get('userEmail') ?? '';
    const [, person, number] = /^([a-z]+)(\d+)@/.exec(email) ?? [];
    if (bearer !== SERVICE_TOKEN) {
      const holder = readBearer(bearer);
      const history = historyOf(bearer);
      if (history === null) return answer(401, {});
      const calls = this.callsOf(history);
      if (holder === null) {
        calls.refused.push(bearer);
        return answer(401, {});
      }
      calls.byPerson.set(holder.person, (calls.byPerson.get(holder.person) ?? 0) + 1);
      if (isCovered(originOf(bearer), calls.signOuts)) calls.afterSignOut.push(holder.person);
      if (email !== emailOf(holder.history, holder.person)) return answer(403, {});
    }
    return answer(200, { email, note: dataMark(Number(number), String(person)) });
  }
}

interface ApiAnswer {
  status: number;
  body: object;
}

function answer(status: number, body: object): ApiAnswer {
  return { status, body };
}

/** Returns 43 base64url characters, which are the same for the same name. */
function deriveSecret(name: string): string {
  return createHash('sha256').update(name).digest('base64url');
}

/** A directory in memory, if there is one with enough room, because these tests do not need a disk. */
function memoryDirectory(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    if (bavail * bsize > 1024 ** 3) return '/dev/shm';
  } catch {
    // This system has no such directory.
  }
  return tmpdir();
}
