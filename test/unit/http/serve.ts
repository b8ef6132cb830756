import { connect } from 'node:net';
import pino from 'pino';
import type { Channel, ChannelPlugin, Route } from '../../../src/channel/index.ts';
import type { ListeningAddress } from '../../../src/daemon/http/listener.ts';
import type { FindOutage } from '../../../src/daemon/http/routes.ts';
import { createServer } from '../../../src/daemon/http/server.ts';
import { type PersonKey, personKey, type TokenValidator } from '../../../src/daemon/identity/identity.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import type { LimitStore } from '../../../src/daemon/store/limits/limits.ts';
import { Tickets } from '../../../src/daemon/time/tickets.ts';
import { NO_OBSERVER } from '../../../src/daemon/trace/observer.ts';
import type { TraceRecord } from '../../../src/daemon/trace/trace-record.ts';

/** The settings that the tests of this folder use. The tested code reads no other settings. */
const SETTINGS = {
  BODY_LIMIT_BYTES: 2048,
  TRUST_PROXY: 0,
  KEEP_ALIVE_SECONDS: 65,
  WEBCHAT_ALLOWED_ORIGINS: ['https://shop.example'],
  RATE_LIMIT_TOKEN_MAX: 3,
  RATE_LIMIT_ANONYMOUS_MAX: 2,
  RATE_LIMIT_WINDOW_SECONDS: 60,
} as const;

export interface ServeOptions {
  routes?: readonly Route[];
  /** Routes that belong to no channel. */
  ownRoutes?: readonly Route[];
  settings?: Partial<Settings>;
  limits?: LimitStore;
  keepTrace?: (trace: TraceRecord) => Promise<void>;
  expectRoom?: () => void;
  health?: Channel['health'];
  findOutage?: FindOutage;
  requestTimeout?: number;
  /** ms since the epoch. */
  now?: () => number;
}

export interface Served extends ListeningAddress {
  server: ReturnType<typeof createServer>;
  /** Replaces settings, as a reload does. */
  reload: (settings: Partial<Settings>) => void;
  log: LogLine[];
  traces: TraceRecord[];
  hits: string[];
  validations: string[];
}

export type LogLine = Record<string, unknown> & { level: number; msg: string };

const served: ReturnType<typeof createServer>[] = [];

/** Starts the server on a free loopback port with one channel, `web`. Every part below the server is a stub. */
export async function serve(options: ServeOptions = {}): Promise<Served> {
  const log: LogLine[] = [];
  const traces: TraceRecord[] = [];
  const hits: string[] = [];
  const validations: string[] = [];
  const channel: Channel = {
    routes: options.routes ?? [],
    ...(options.health ? { health: options.health } : {}),
  };
  const services = {
    sequencer: new Tickets(),
    observer: NO_OBSERVER,
    agents: { all: [{ name: 'default', digest: () => 'digest' }], digest: () => 'digest' },
    settings: { ...SETTINGS, ...options.settings } as unknown as Settings,
    store: {
      limits: options.limits ?? countingLimits(hits),
      traces: {
        keep: () => Promise.reject(new Error('only the traces of refused requests are kept here')),
        keepRefused: options.keepTrace ?? (async (trace) => void traces.push(trace)),
        find: async () => [],
        findOf: async () => [],
        recent: async () => [],
      },
      expectRoom: options.expectRoom ?? (() => undefined),
    },
    tokens: fakeTokens(validations),
    log: pino(
      { level: 'debug', base: null },
      { write: (line: string) => void log.push(JSON.parse(line) as LogLine) },
    ),
    clock: { now: options.now ?? (() => 1_700_000_000_000) },
  };
  const server = createServer({
    services,
    channels: [{ plugin: { name: 'web' } as ChannelPlugin, channel }],
    ownRoutes: options.ownRoutes ?? [],
    ...(options.findOutage ? { findOutage: options.findOutage } : {}),
    ...(options.requestTimeout ? { requestTimeout: options.requestTimeout } : {}),
  });
  const address = await server.listen({ host: '127.0.0.1', port: 0 });
  served.push(server);
  const reload = (settings: Partial<Settings>) => {
    services.settings = { ...services.settings, ...settings };
  };
  return { ...address, server, reload, log, traces, hits, validations };
}

export async function closeAll(): Promise<void> {
  await Promise.all(served.splice(0).map((server) => server.close()));
}

/** Fixed windows that never end: from hit `max + 1` on, hits are refused. */
function countingLimits(hits: string[]): LimitStore {
  const counts = new Map<string, number>();
  return {
    async hit(key, { max }) {
      hits.push(key);
      const count = counts.get(key) ?? 0;
      const allowed = count < max;
      if (allowed) counts.set(key, count + 1);
      const remaining = max - (counts.get(key) ?? 0);
      return { allowed, remaining, retry_after_ms: remaining === 0 ? 11_500 : 0, reset_ms: 59_500 };
    },
  };
}

/**
 * A token such as `good-ana` is a valid token of the person `ana`, and `old-ana` an expired one. A token with another
 * beginning is malformed.
 */
function fakeTokens(validations: string[]): TokenValidator {
  return {
    async validate(token, request_id) {
      if (request_id === undefined) throw new Error('the log line would have no request id');
      validations.push(token);
      const [, state, sub] = /^(good|old)-(.*)$/.exec(token) ?? [];
      if (sub === undefined) return { valid: false, reason: 'JWT Malformed' };
      const claims = { sub, email: `${sub}@example.com`, exp: 1_800_000_000 };
      const person: PersonKey = personKey(claims);
      if (state === 'old') return { valid: false, reason: 'Token Expired', expired: { person, at: 0 } };
      return {
        valid: true,
        user: { user_id: sub, email: claims.email, roles: [], token: new Secret(token) },
        claims,
        person,
        expires_at: claims.exp * 1000,
      };
    },
  };
}

/** A route that answers with the body of the request. */
export const echo: Route = {
  method: 'POST',
  path: '/echo',
  contentType: 'application/json',
  cors: true,
  handle: (request) => ({ body: { got: request.json() } }),
};

/** A limited route. The token is in the header, otherwise in the body. */
export const limited: Route = {
  method: 'POST',
  path: '/limited',
  contentType: 'application/json',
  cors: true,
  limited: true,
  token: (request) =>
    request.headers.authorization?.slice('Bearer '.length) ?? (request.json().jwt_token as string),
  handle: (request) => ({ body: { got: request.json() } }),
};

export function post(
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } });
}

/** Sends bytes over a new connection, and returns everything that arrives until the server closes it. */
export function sendRaw(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  request_id: string;
  errors?: { field: string; message: string }[];
}

export async function problem(response: Response): Promise<ProblemDocument> {
  return (await response.json()) as ProblemDocument;
}

/** Resolves when the condition is true. For effects that occur after an answer was sent. */
export async function until(ask: () => boolean): Promise<void> {
  while (!ask()) await new Promise((resolve) => setImmediate(resolve));
}
