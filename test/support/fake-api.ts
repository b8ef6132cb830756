import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LocalServer } from './local-server.ts';

/** A request to the API. */
export interface SeenRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  /** The bearer token as received, or null. */
  bearer: string | null;
  /** `sub` of the bearer token if the token is valid and has not been revoked; otherwise null. */
  sub: string | null;
  /** The parsed JSON, or the text of a form. */
  body: unknown;
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Ways in which a test can make the API answer a path. */
export type Misbehaviour =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  /** Answers correctly, but only when `wait` resolves. */
  | { wait: Promise<void> }
  | 'hang'
  /** 2 MiB of JSON, in pieces. */
  | 'huge'
  | { redirect: string; status?: number };

export interface FakeApiOptions {
  /** HS256 secret of user tokens and of the default token. */
  secret: string;
  users?: readonly Record<string, unknown>[];
  email?: string;
  password?: string;
  /** Path prefix of the API. */
  prefix?: string;
  /** Lifetime of the default token in seconds; null issues one without `exp`. */
  tokenLife?: number | null;
  /** Finds the user for a lookup with a valid bearer token. Default: the user in `users` with the e-mail address. */
  find?: (request: SeenRequest) => Record<string, unknown> | undefined;
}

export const ALICE = {
  id: 'user-1',
  email: 'alice@example.com',
  name: 'Alice Example',
  phone: '+15550100',
  orders: [
    { id: 'A-1001', status: 'shipped', total: 42.5 },
    { id: 'A-1002', status: 'open', total: 7 },
  ],
};
export const BOB = { id: 'user-2', email: 'bob@example.com', name: 'Bob Example', orders: [] };

export class FakeApi extends LocalServer {
  readonly requests: SeenRequest[] = [];
  /** The paths of the requests whose client left before they were answered. */
  readonly abandoned: string[] = [];
  /** Lifetime of the next default tokens in seconds; null issues them without `exp`. */
  tokenLife: number | null;
  readonly #options: Required<FakeApiOptions>;
  readonly #misbehaviours = new Map<string, { how: Misbehaviour; times: number }>();
  readonly #revoked = new Set<string>();
  #awaited: { path: string; resolve(request: SeenRequest): void }[] = [];
  readonly #issued: string[] = [];

  constructor(options: FakeApiOptions) {
    super();
    this.#options = {
      users: [ALICE, BOB],
      email: 'service@example.com',
      password: 'service-password',
      prefix: '',
      tokenLife: 86_400,
      find: ({ query }) => this.#options.users.find((candidate) => candidate.email === query.userEmail),
      ...options,
    };
    this.tokenLife = this.#options.tokenLife;
  }

  static start(options: FakeApiOptions): Promise<FakeApi> {
    return new FakeApi(options).listen();
  }

  /** Value for `API_BASE_URL`. */
  override get url(): string {
    return `${this.origin}${this.#options.prefix}`;
  }

  /** Settings of a daemon that uses the API. */
  get env(): Record<string, string> {
    return { API_BASE_URL: this.url, API_EMAIL: this.#options.email, API_PASSWORD: this.#options.password };
  }

  /** The requests to one path. */
  seen(path: string): SeenRequest[] {
    return this.requests.filter((request) => request.path === path);
  }

  /** Resolves when the next request to the path has arrived; call it before the request is sent. */
  next(path: string): Promise<SeenRequest> {
    return new Promise((resolve) => this.#awaited.push({ path, resolve }));
  }

  /** Answers a path, such as `/users`, in this way for this many times. Default: always. */
  misbehave(path: string, how: Misbehaviour, times = Number.POSITIVE_INFINITY): void {
    this.#misbehaviours.set(path, { how, times });
  }

  behave(): void {
    this.#misbehaviours.clear();
    this.tokenLife = this.#options.tokenLife;
  }

  /** Answers 401 to all default tokens that were issued so far. */
  revokeDefaultTokens(): void {
    for (const token of this.#issued) this.#revoked.add(token);
  }

  /** Answers 401 to this token. */
  revoke(token: string): void {
    this.#revoked.add(token);
  }

  protected async handle(request: IncomingMessage, response: ServerResponse, sent: Buffer): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://api');
    const text = sent.toString();
    const path = url.pathname.startsWith(this.#options.prefix)
      ? url.pathname.slice(this.#options.prefix.length)
      : url.pathname;
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? null;
    const seen: SeenRequest = {
      method: request.method ?? '',
      path,
      query: Object.fromEntries(url.searchParams),
      bearer,
      sub: bearer === null ? null : this.#subOf(bearer),
      body: text === '' ? null : isForm(request) ? text : JSON.parse(text),
      headers: request.headers,
    };
    this.requests.push(seen);
    response.once('close', () => response.writableEnded || this.abandoned.push(path));
    for (const { resolve } of this.#awaited.filter((entry) => entry.path === path)) resolve(seen);
    this.#awaited = this.#awaited.filter((entry) => entry.path !== path);
    if (await this.#misbehaved(path, response)) return;
    if (seen.method === 'POST' && path === '/authentication_token') return this.#issue(seen, response);
    if (seen.method === 'GET' && path === '/users') return this.#users(seen, response);
    send(response, 404, { error: 'no such path' });
  }

  async #misbehaved(path: string, response: ServerResponse): Promise<boolean> {
    const entry = this.#misbehaviours.get(path);
    if (!entry || entry.times <= 0) return false;
    entry.times--;
    const { how } = entry;
    if (how === 'hang') return true;
    if (how === 'huge') {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.on('error', () => {
        // The client stops reading, as the test expects.
      });
      response.write('["');
      for (let kilobytes = 0; kilobytes < 2048; kilobytes++) response.write('x'.repeat(1024));
      response.end('"]');
      return true;
    }
    if ('redirect' in how) {
      response.writeHead(how.status ?? 302, { location: how.redirect }).end();
      return true;
    }
    if ('wait' in how) {
      await how.wait;
      return false;
    }
    response.writeHead(how.status, { 'content-type': 'application/json', ...how.headers });
    response.end(typeof how.body === 'string' ? how.body : JSON.stringify(how.body ?? {}));
    return true;
  }

  #issue({ body }: SeenRequest, response: ServerResponse): void {
    const { email, password } = (body ?? {}) as { email?: unknown; password?: unknown };
    if (email !== this.#options.email || password !== this.#options.password) {
      send(response, 401, { error: 'wrong credentials' });
      return;
    }
    const now = Math.floor(Date.now() / 1000);
    const life = this.tokenLife === null ? {} : { exp: now + this.tokenLife };
    const token = signToken(
      { sub: 'service', email, iat: now, jti: this.#issued.length, ...life },
      this.#options.secret,
    );
    this.#issued.push(token);
    send(response, 200, { token });
  }

  #users(seen: SeenRequest, response: ServerResponse): void {
    const user = this.#options.find(seen);
    if (seen.sub === null) send(response, 401, { error: 'no valid token' });
    else if (user) send(response, 200, user);
    else send(response, 404, { error: 'no such user' });
  }

  #subOf(token: string): string | null {
    if (this.#revoked.has(token)) return null;
    const [header, payload, signature] = token.split('.');
    const given = Buffer.from(signature ?? '', 'base64url');
    const right = createHmac('sha256', this.#options.secret).update(`${header}.${payload}`).digest();
    if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
    const claims = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString()) as {
      sub?: string;
      exp?: number;
    };
    if (claims.exp !== undefined && claims.exp * 1000 <= Date.now()) return null;
    return claims.sub ?? null;
  }
}

/** An HS256 token with exactly these claims. */
export function signToken(claims: Record<string, unknown>, secret: string): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

function isForm({ headers }: IncomingMessage): boolean {
  return /form/.test(headers['content-type'] ?? '');
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
