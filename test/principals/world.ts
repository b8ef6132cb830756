import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import pino from 'pino';
import type {
  ChannelPlugin,
  ChannelSettings,
  PlatformSimulator,
  SimulatedApi,
  SimulatedApiAnswer,
  SimulatedRequest,
} from '../../src/channel/index.ts';
import { type Daemon, startDaemon } from '../../src/daemon/serve.ts';
import { configure } from '../../src/daemon/settings/configure/configure.ts';
import { SECRET } from '../support/daemon.ts';
import { settingsOf } from '../support/fake-platform.ts';
import { MARKED_TEXTS } from '../support/marked-texts.ts';
import { PLATFORMS } from '../support/platforms.ts';
import type { Chat, Delivered } from './chat.ts';
import { type ApiCalls, Company, RENEWAL_PATH } from './company.ts';
import { Connection, type Request, type Response } from './connection.ts';
import { giveUpAfter } from './give-up-after.ts';
import { deedsIn, hasToken, historyOfMark, MARK } from './marks.ts';
import { AUDIENCE, ISSUER } from './tokens.ts';

/** A page of this origin may call the web channels. */
export const ALLOWED_ORIGIN = 'https://shop.example.com';

const HOUR_MS = 3_600_000;
/** A message that is not answered within this time counts as lost. */
const ANSWER_SECONDS = 20;
/** The messages of the inbox that the daemon has still to do something about. */
const OPEN = { states: ['waiting', 'running', 'replied'], limit: 10_000 } as const;
export interface Platform {
  /** It has the API of the platform. */
  server: Server;
  plugin: ChannelPlugin;
  simulator: PlatformSimulator;
  settings: ChannelSettings;
  api: SimulatedApi;
}

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
  readonly #company = new Company();
  /** The replies that are awaited, each by its first mark. */
  readonly #replies = new Map<string, Delivered | null>();
  /** Who waits until an attempt at a message of these users has ended. */
  readonly #attempts = new Set<{ users: ReadonlySet<string>; ended(): void }>();
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
      const { status, body } = this.#company.answer(url, request.headers.authorization ?? '', sent);
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
    });
    this.#directory = directory;
    this.platforms = platforms;
    this.#env = env;
    for (const [name, { server, ...platform }] of platforms)
      server.on('request', async (request, response) => {
        const { status, headers, body } = this.#answerAs(name, platform, request, await buffer(request));
        const type = { 'Content-Type': 'application/json' };
        response.writeHead(status, { ...type, ...headers }).end(JSON.stringify(body));
      });
    const { now } = Date;
    Date.now = () => now() + this.#offset;
    this.#restore = () => {
      Date.now = now;
    };
  }

  /** @param settings settings of the daemon, in addition to the settings that all histories need */
  static async open(settings: Readonly<Record<string, string>> = {}): Promise<World> {
    const directory = mkdtempSync(join(memoryDirectory(), 'agentd-principals-'));
    mkdirSync(join(directory, 'state'), { mode: 0o700 });
    writeFileSync(join(directory, 'order.mjs'), TOOL);
    const file = `tools:\n  - module: ./order.mjs\n${MARKED_TEXTS}`;
    writeFileSync(join(directory, 'agentd.yaml'), file, { mode: 0o600 });
    const platforms = new Map<string, Platform>();
    const api = await listen();
    const base = urlOf(api);
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
    for (const { plugin } of PLATFORMS) {
      const simulator = await plugin.simulator?.();
      if (!simulator) throw new Error(`the channel ${plugin.name} has no simulator`);
      const server = await listen();
      const own = simulator.devSettings(deriveSecret, urlOf(server));
      Object.assign(env, own);
      const settings = settingsOf(plugin, own);
      platforms.set(plugin.name, { server, plugin, simulator, settings, api: simulator.startApi(settings) });
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
   * Notes the first reply whose first mark is this mark. Call this before the message is delivered.
   * @returns a function that ends this, and returns the reply
   */
  expectReply(mark: string): () => Delivered | null {
    this.#replies.set(mark, null);
    return () => {
      const reply = this.#replies.get(mark) ?? null;
      this.#replies.delete(mark);
      return reply;
    };
  }

  /**
   * Waits until the daemon has answered everything that these users of platforms have written, has noted that its
   * answers were sent, and has sent everything else that it has for them.
   */
  async answered(users: ReadonlySet<string>): Promise<void> {
    let isLate = false;
    let { promise: ended, resolve } = Promise.withResolvers<void>();
    const waiting = { users, ended: () => resolve() };
    const stopWaiting = giveUpAfter(ANSWER_SECONDS, () => {
      isLate = true;
      resolve();
    });
    this.#attempts.add(waiting);
    try {
      while (!isLate && (await this.#isAnswering(users))) {
        await ended;
        ({ promise: ended, resolve } = Promise.withResolvers<void>());
      }
    } finally {
      this.#attempts.delete(waiting);
      stopWaiting();
    }
  }

  /** Waits until the runs in progress have ended. The run of a stopped stream may end later than its stream. */
  async runsEnded(): Promise<void> {
    await Promise.all(this.#daemon?.services.running ?? []);
  }

  async #isAnswering(users: ReadonlySet<string>): Promise<boolean> {
    const open = (await this.#daemon?.services.store.inbox.list(OPEN)) ?? [];
    return open.some(({ user_id }) => user_id !== null && users.has(user_id));
  }

  /** Calls of the business API so far in one history. */
  callsOf(history: number): ApiCalls {
    return this.#company.callsOf(history);
  }

  /** Follows a private chat, which has one or more names on its platform. */
  follow(platform: string, rooms: readonly string[]): Chat {
    const names = rooms.map((room) => `${platform} ${room}`);
    const chat = names.map((name) => this.#chats.get(name)).find(Boolean) ?? [];
    for (const name of names) this.#chats.set(name, chat);
    return chat;
  }

  /** Drops the records of a history that has ended. */
  forget(history: number, chats: readonly Chat[]): void {
    this.#company.forget(history);
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
    for (const server of [this.#api, ...[...this.platforms.values()].map((platform) => platform.server)]) {
      server.close();
      server.closeAllConnections();
    }
    this.#restore();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const configuration = await configure({ cwd: this.#directory, env: this.#env });
    const log = pino({ level: 'info', base: null }, { write: (line: string) => this.#examine(line) });
    this.#daemon = await startDaemon(configuration, log);
    this.#followAttempts(this.#daemon.services.store.inbox);
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

  /** Only the store knows when the daemon has noted what became of a message, which people cannot see. */
  #followAttempts(inbox: Daemon['services']['store']['inbox']): void {
    const { settle } = inbox;
    inbox.settle = async (claim, outcome) => {
      const isOurs = await settle(claim, outcome);
      const { user_id } = claim.message;
      for (const { users, ended } of this.#attempts) if (users.has(user_id ?? '')) ended();
      return isOurs;
    };
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

  /** Answers as a platform, and shows people what it would show them. */
  #answerAs(
    name: string,
    { api }: Pick<Platform, 'api'>,
    { method = 'GET', url = '/', headers }: IncomingMessage,
    body: Uint8Array,
  ): SimulatedApiAnswer {
    const given = headers as Record<string, string | undefined>;
    const answer = api.answer({ method, path: url, headers: given, body });
    for (const { what, to, thread = null, text, buttons = [] } of answer.shown) {
      if (what !== 'message') continue;
      const delivered = { to, thread, text, buttons: buttons.map(({ press }) => press) };
      this.#chats.get(`${name} ${to}`)?.push(delivered);
      // Only its first message shows how the platform names a thread.
      if (thread !== null) this.follow(name, [`${to} ${thread}`]).push(delivered);
      for (const line of text.split('\n'))
        for (const mark of deedsIn(line))
          this.callsOf(historyOfMark(mark)).named.push({ mark, platform: name, to, thread, line });
      const mark = MARK.exec(text)?.[0];
      if (mark && this.#replies.get(mark) === null) this.#replies.set(mark, delivered);
    }
    return answer;
  }
}

/** The tool that people may use only with confirmation. */
const TOOL = `
export default {
  name: 'order',
  description: 'Orders something.',
  parameters: { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] },
  effect: 'write',
  summary: 'Order {item}',
  call: ({ item }, { api }) => api.post('/orders', { body: { item } }),
};
`;

/** Starts a server on loopback. */
async function listen(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1');
  // On a busy machine, a connection would be closed while a request is on its way.
  server.keepAliveTimeout = 0;
  await once(server, 'listening');
  return server;
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
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
