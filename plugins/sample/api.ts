import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SAMPLE_DOCUMENT } from './document.ts';
import { SAMPLE_PEOPLE, SAMPLE_PRODUCTS, type SampleOrder, type SamplePerson } from './people.ts';

/** Maximum number of requests that are kept for the sample shop. */
const MAX_REQUESTS = 100;

export interface SampleApiOptions {
  email: string;
  password: string;
  /**
   * Checks a user's token, as the company's API would with the shared secret. Resolves to the person's e-mail address;
   * null if the token is invalid.
   */
  findEmail(token: string): Promise<string | null>;
}

export interface SampleApi {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** The requests after the request with this number, oldest first. Only the latest hundred requests are kept. */
  requestsAfter(number: number): readonly ApiRequest[];
  /** Undoes all changes. */
  restore(): void;
  close(): Promise<void>;
}

/** One request to the sample API. The record never contains a token. */
export interface ApiRequest {
  /** 1, 2, 3, … */
  number: number;
  /** ms since the epoch */
  at: number;
  method: string;
  /** Path and query. */
  path: string;
  /** The person's own credentials, the default credentials, or no valid credentials. */
  credentials: 'user' | 'default' | 'none';
  /** E-mail address that the credentials belong to. */
  as: string | null;
  status: number;
}

/**
 * A small business API on a loopback port for `serve --dev`, with three people and their orders. A person can read and
 * change their own record. The default account can read every record but change none. Any other caller can read none.
 * Changes last until the daemon stops.
 */
export async function startSampleApi(options: SampleApiOptions): Promise<SampleApi> {
  const defaultToken = randomBytes(24).toString('base64url');
  const requests: ApiRequest[] = [];
  let people = structuredClone(SAMPLE_PEOPLE);
  let count = 0;
  const answerAndNote = async (request: IncomingMessage): Promise<Answer> => {
    const reader = await identifyReader(request.headers.authorization, options, defaultToken);
    const answered = await answer(request, reader, people, options, defaultToken).catch((error: unknown) => ({
      status: 400,
      body: { error: error instanceof Error ? error.message : 'bad request' },
      reader,
    }));
    requests.push({
      number: ++count,
      at: Date.now(),
      method: request.method ?? '',
      path: request.url ?? '',
      ...describeCredentials(answered.reader, options),
      status: answered.status,
    });
    if (requests.length > MAX_REQUESTS) requests.shift();
    return answered;
  };
  const server = createServer((request, response) => {
    answerAndNote(request).then(
      ({ status, body }) => send(response, status, body),
      () => send(response, 500, { error: 'internal error' }),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requestsAfter(last) {
      // A number that is too high is from before a restart of the daemon. The page then gets all requests.
      const known = last > (requests.at(-1)?.number ?? 0) ? 0 : last;
      return requests.filter(({ number }) => number > known);
    },
    restore() {
      people = structuredClone(SAMPLE_PEOPLE);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** `reader`: the owner of the request's credentials. */
type Answer = { status: number; body: unknown; reader: Reader | null };

async function answer(
  request: IncomingMessage,
  reader: Reader | null,
  people: readonly SamplePerson[],
  options: SampleApiOptions,
  defaultToken: string,
): Promise<Answer> {
  const url = new URL(request.url ?? '/', 'http://sample');
  if (request.method === 'POST' && url.pathname === '/authentication_token') {
    const given = (await readJson(request)) as Partial<Record<string, unknown>>;
    const known = given.email === options.email && same(given.password, options.password);
    return known
      ? { status: 200, body: { token: defaultToken }, reader: { everyone: true } }
      : { status: 401, body: { error: 'wrong credentials' }, reader };
  }
  if (request.method === 'GET' && url.pathname === '/openapi.json')
    return { status: 200, body: SAMPLE_DOCUMENT, reader };
  if (reader === null) return { status: 401, body: { error: 'no valid token' }, reader };
  if (request.method === 'GET' && url.pathname === '/users') {
    const email = url.searchParams.get('userEmail')?.toLowerCase();
    const found = people.filter((person) => person.email === email && mayRead(reader, person));
    return { status: 200, body: found, reader };
  }
  if (request.method === 'GET' && url.pathname === '/products')
    return { status: 200, body: SAMPLE_PRODUCTS, reader };
  const person = people.find(({ email }) => !reader.everyone && email === reader.email);
  if (!person) return { status: 403, body: { error: 'only for customers' }, reader };
  return { ...(await answerCustomer(request, url.pathname, person)), reader };
}

/** Answers a request that a person makes about their own record. */
async function answerCustomer(
  request: IncomingMessage,
  path: string,
  person: SamplePerson,
): Promise<Omit<Answer, 'reader'>> {
  if (request.method === 'GET' && path === '/orders') return { status: 200, body: person.orders };
  const [, number] = /^\/orders\/(\d{4})\/cancel$/.exec(path) ?? [];
  if (request.method === 'POST' && number !== undefined)
    return cancel(person.orders.find((order) => order.number === Number(number)));
  if (request.method === 'PUT' && path === '/address') {
    const { address } = (await readJson(request)) as { address?: unknown };
    if (typeof address !== 'string') return { status: 400, body: { error: 'there is no address' } };
    person.address = address;
    return { status: 200, body: { address } };
  }
  return { status: 404, body: { error: 'no such path' } };
}

function cancel(order: SampleOrder | undefined): Omit<Answer, 'reader'> {
  if (!order) return { status: 404, body: { error: 'There is no such order.' } };
  if (order.status !== 'being packed')
    return {
      status: 409,
      body: {
        error:
          order.status === 'canceled'
            ? 'This order is already canceled.'
            : `This order cannot be canceled, because it is ${order.status}.`,
      },
    };
  order.status = 'canceled';
  return { status: 200, body: order };
}

type Reader = { everyone: true } | { everyone: false; email: string };

async function identifyReader(
  header: string | undefined,
  options: SampleApiOptions,
  defaultToken: string,
): Promise<Reader | null> {
  const token = header?.replace(/^Bearer /, '') ?? '';
  if (token === '') return null;
  if (same(token, defaultToken)) return { everyone: true };
  const email = await options.findEmail(token);
  return email === null ? null : { everyone: false, email: email.toLowerCase() };
}

function describeCredentials(
  reader: Reader | null,
  { email }: SampleApiOptions,
): Pick<ApiRequest, 'credentials' | 'as'> {
  if (reader === null) return { credentials: 'none', as: null };
  return reader.everyone ? { credentials: 'default', as: email } : { credentials: 'user', as: reader.email };
}

function mayRead(reader: Reader, person: SamplePerson): boolean {
  return reader.everyone || reader.email === person.email;
}

function same(given: unknown, expected: string): boolean {
  const bytes = Buffer.from(typeof given === 'string' ? given : '');
  const wanted = Buffer.from(expected);
  return bytes.length === wanted.length && timingSafeEqual(bytes, wanted);
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > 10_000) throw new Error('body too large');
  }
  return JSON.parse(text);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}
