import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { ERRORS } from '../../src/daemon/errors.ts';
import { type Agentd, startAgentd } from '../support/daemon.ts';
import { effort, isThorough } from '../support/effort.ts';
import { inParallel } from '../support/pool.ts';
import { type SeededRandom, seededRandom } from '../support/random.ts';
import { RawConnection, type RawResponse } from '../support/raw-http.ts';
import { post } from '../support/webchat.ts';

const REQUESTS = effort(1_000, 10_000);
/** How many of these requests warm up the daemon, until its memory has stopped growing. */
const WARM_UP = effort(500, 3_000);
/** Options for a small heap. In a larger heap, freed memory stays resident until it is needed. */
const SMALL_HEAP = '--max-semi-space-size=1 --max-old-space-size=64';
/**
 * How much the resident memory may grow after the warm-up, in bytes: room for the rest of the small heap, and for the
 * pages of the database that are kept in memory. With THOROUGH=1, a leak of 10 KiB per request would be found.
 */
const GROWTH_MAX = 64 * 1024 * 1024;

/** How long a client waits for an answer before it ends its side of the connection, in ms. */
const PATIENCE = 100;

/** The error codes for input that is not a valid request, and so never reaches a route (RFC 9110, RFC 6585). */
const BEFORE_ROUTES: Readonly<Record<number, string>> = { 408: 'invalid_request', 431: 'invalid_request' };

interface Generated {
  /** The bytes, in the pieces in which they are written. */
  pieces: Buffer[];
  /** Whether the client closes the connection instead of waiting for the answer. */
  cut: boolean;
  head: boolean;
}

function generate(random: SeededRandom): Generated {
  const method = pickMethod(random);
  const body = pickBody(random);
  const lines = [`${method} ${pickTarget(random)} ${pickVersion(random)}`, ...pickHeaders(random, body)];
  const broken = random.chance(0.03) ? '\n' : '\r\n';
  const framed = random.chance(0.12) ? chunked(random, body) : { header: lengthHeader(random, body), body };
  const head = Buffer.from([...lines, ...framed.header, 'Connection: close', '', ''].join(broken), 'latin1');
  const bytes = Buffer.concat([head, framed.body]);
  const cut = random.chance(0.08);
  const sent = cut || random.chance(0.04) ? bytes.subarray(0, random.below(bytes.length + 1)) : bytes;
  return { pieces: pieces(random, sent), cut, head: method === 'HEAD' };
}

function pickMethod(random: SeededRandom): string {
  if (random.chance(0.75)) return 'POST';
  const others = [
    'GET',
    'HEAD',
    'PUT',
    'DELETE',
    'PATCH',
    'OPTIONS',
    'TRACE',
    'QUERY',
    'PROPFIND',
    'M-SEARCH',
  ];
  return random.pick([...others, 'post', 'BREW', 'CONNECT', '', 'GET\x00', 'PRI']);
}

function pickTarget(random: SeededRandom): string {
  if (random.chance(0.75)) return '/webchat/message';
  return random.pick([
    '/',
    '/webchat/message/',
    '/webchat//message',
    '/webchat/message?token=a&token=b',
    '/webchat/%6dessage',
    '/webchat/%zz',
    '/webchat/%00',
    '/%c0%ae%c0%ae/etc/passwd',
    '/../../etc/passwd',
    '*',
    '//',
    'http://elsewhere.example/webchat/message',
    'elsewhere.example:443',
    '/webchat/message#fragment',
    '/__proto__',
    '/constructor/prototype',
    `/${'a/'.repeat(random.below(2000))}`,
    `/${random.bytes(12).toString('latin1')}`,
    '/\u00fc',
    '',
    '?',
  ]);
}

function pickVersion(random: SeededRandom): string {
  return random.chance(0.95)
    ? 'HTTP/1.1'
    : random.pick(['HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9', 'HTTP/9.9', 'ICE/1.0', '']);
}

function pickHeaders(random: SeededRandom, body: Buffer): string[] {
  const headers: string[] = [];
  if (!random.chance(0.02))
    headers.push(`Host: ${random.pick(['agentd.example', '', 'a b', '[::1]:80', 'x'.repeat(300)])}`);
  headers.push(
    random.chance(0.85)
      ? 'Content-Type: application/json'
      : random.pick([
          'Content-Type: application/json; charset=utf-16',
          'Content-Type: text/plain',
          'Content-Type: multipart/form-data; boundary=',
          'Content-Type: ;;;=',
          'Content-Type:',
          'X-Nothing: 1',
        ]),
  );
  const some: (() => string)[] = [
    () =>
      `Authorization: ${random.pick(['Bearer', 'Bearer ', 'Basic eDp5', `Bearer ${'a.'.repeat(random.below(5000))}`, 'Bearer eyJhbGciOiJub25lIn0.e30.', `bearer ${random.bytes(40).toString('base64')}`])}`,
    () =>
      `Idempotency-Key: ${random.pick(['', 'key', 'key', 'a b', 'k'.repeat(256), '\u00ff', '__proto__'])}`,
    () => `X-Request-Id: ${random.pick(['', 'mine', 'a'.repeat(64), 'a'.repeat(65), '../x', '"; drop'])}`,
    () =>
      `Origin: ${random.pick(['null', 'https://www.example.com', 'https://evil.example', '*', '\u00ff'])}`,
    () => `Content-Encoding: ${random.pick(['gzip', 'br', 'identity', 'nothing, such', ''])}`,
    () => `Expect: ${random.pick(['100-continue', 'the-unexpected'])}`,
    () => `Upgrade: ${random.pick(['websocket', 'h2c', ''])}`,
    () => `Cookie: ${random.pick(['jwt_token=', 'jwt_token=a.b.c', ';;;', '='.repeat(2000)])}`,
    () => `X-Forwarded-For: ${random.pick(['1.2.3.4', '::1', 'unknown', ','.repeat(500)])}`,
    () =>
      `Transfer-Encoding: ${random.pick(['chunked', 'gzip, chunked', 'identity', 'chunked, chunked', 'x'])}`,
    () =>
      `Content-Length: ${random.pick(['0', '-1', '1e3', '999999999999999999999', `${body.length}, ${body.length}`])}`,
    () => `X-Large: ${'x'.repeat(random.below(40_000))}`,
    () => 'Set-Cookie: a=b',
    () => '__proto__: polluted',
    () => `${random.bytes(6).toString('latin1')}: x`,
    () => ' folded: line',
    () => `Accept: ${random.bytes(20).toString('base64')}`,
  ];
  while (random.chance(0.35)) headers.push(random.pick(some)());
  return random.shuffled(headers);
}

function lengthHeader(random: SeededRandom, body: Buffer): string[] {
  if (random.chance(0.97)) return [`Content-Length: ${body.length}`];
  return random.pick([[], [`Content-Length: ${body.length + random.below(20)}`], ['Content-Length: 1']]);
}

function chunked(random: SeededRandom, body: Buffer): { header: string[]; body: Buffer } {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const chunk = body.subarray(at, at + 1 + random.below(20_000));
    const size = random.chance(0.02) ? 'zz' : chunk.length.toString(16);
    parts.push(
      Buffer.from(`${size}${random.chance(0.1) ? ';extension=1' : ''}\r\n`),
      chunk,
      Buffer.from('\r\n'),
    );
    at += chunk.length;
  }
  if (!random.chance(0.03)) parts.push(Buffer.from('0\r\n\r\n'));
  return { header: ['Transfer-Encoding: chunked'], body: Buffer.concat(parts) };
}

function pickBody(random: SeededRandom): Buffer {
  const kind = random.next();
  if (kind < 0.75) return Buffer.from(JSON.stringify(pickMessage(random)));
  if (kind < 0.8) return random.bytes(random.below(400));
  if (kind < 0.82) return Buffer.alloc(200_000 + random.below(200_000), random.pick(['a', ' ', '[', '"']));
  return Buffer.from(
    random.pick([
      '',
      'null',
      '[]',
      '"text"',
      '{',
      '{}',
      '{"user_id":"a","message":"\\ud800"}',
      '\ufeff{"user_id":"a","message":"b"}',
      '{"user_id":"a","user_id":1,"message":"b"}',
      '{"__proto__":{"user_id":"a"},"message":"b"}',
      `{"user_id":"a","message":"b","metadata":${'['.repeat(5000)}${']'.repeat(5000)}}`,
      `{"user_id":"a","message":"b","metadata":${'{"a":'.repeat(100)}1${'}'.repeat(100)}}`,
      '{"user_id":"a","message":1e999}',
    ]),
  );
}

function pickMessage(random: SeededRandom): Record<string, unknown> {
  const text = () =>
    random.pick([
      'hello',
      'Who am I?',
      '',
      '   ',
      'x'.repeat(random.below(16_100)),
      '\u0000',
      '\ud800',
      '\u{1f600}'.repeat(random.below(300)),
      'a@b.example '.repeat(50),
      "'; DROP TABLE sessions; --",
      '%s%n{{7*7}}<script>',
      random.bytes(30).toString('latin1'),
    ]);
  const anything = () =>
    random.pick<unknown>([
      null,
      0,
      -1,
      1e300,
      true,
      [],
      {},
      [[]],
      { toString: 1 },
      text(),
      text(),
      text(),
      text(),
    ]);
  const message: Record<string, unknown> = {
    user_id: random.chance(0.7) ? 'ada' : anything(),
    message: text(),
  };
  if (random.chance(0.2)) message.message = anything();
  if (random.chance(0.4)) message.session_id = random.chance(0.6) ? `s-${random.below(50)}` : anything();
  if (random.chance(0.2)) message.jwt_token = anything();
  if (random.chance(0.3)) {
    message.metadata = random.chance(0.7)
      ? { jwt_token: anything(), page_url: anything(), user_name: anything(), more: anything() }
      : anything();
  }
  if (random.chance(0.1)) delete message[random.pick(['user_id', 'message'])];
  return message;
}

/**
 * Splits the bytes into the pieces in which they are sent: mostly a single piece, otherwise small pieces, as over a
 * slow connection.
 */
function pieces(random: SeededRandom, bytes: Buffer): Buffer[] {
  if (random.chance(0.9)) return [bytes];
  const parts: Buffer[] = [];
  const size = Math.max(1, Math.ceil(bytes.length / (2 + random.below(20))));
  for (let at = 0; at < bytes.length; at += size) parts.push(bytes.subarray(at, at + size));
  return parts;
}

/** Returns the responses to the request. There are none if the client or the daemon closed the connection first. */
async function send(daemon: Agentd, request: Generated): Promise<RawResponse[]> {
  const connection = await RawConnection.open(daemon.url);
  for (const piece of request.pieces) {
    await connection.write(piece);
    if (request.pieces.length > 1) await new Promise(setImmediate);
  }
  if (request.cut) {
    await connection.cut();
    return [];
  }
  // The daemon answers an incomplete request, if at all, when the client has ended its side.
  const patience = setTimeout(() => connection.end(), PATIENCE);
  const answers = await connection.responses(Number.POSITIVE_INFINITY, request.head);
  clearTimeout(patience);
  await connection.cut();
  return answers;
}

/** Describes what is wrong with a response, or returns null if nothing is wrong. */
function fault({ status, headers, body }: RawResponse, head: boolean): string | null {
  if (status >= 500) return `status ${status}: ${body}`;
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(headers['x-request-id'] ?? ''))
    return `status ${status} without X-Request-Id`;
  if (headers['x-content-type-options'] !== 'nosniff') return `status ${status} without security headers`;
  if (status < 400) return null;
  if (headers['content-type'] !== 'application/problem+json')
    return `status ${status} is not a problem document`;
  if (head) return null;
  let problem: Record<string, unknown>;
  try {
    problem = JSON.parse(String(body));
  } catch {
    return `status ${status} with a body that is not JSON: ${body}`;
  }
  const { type, title, status: told, detail, code, request_id } = problem;
  const documented = ERRORS[code as keyof typeof ERRORS]?.status === status || BEFORE_ROUTES[status] === code;
  const wellFormed =
    type === 'about:blank' &&
    typeof title === 'string' &&
    told === status &&
    typeof detail === 'string' &&
    detail !== '' &&
    request_id === headers['x-request-id'];
  return documented && wellFormed ? null : `status ${status}: ${body}`;
}

function residentBytes(daemon: Agentd): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(daemon.pid)])) * 1024;
}

it(`the daemon answers ${REQUESTS} generated requests only with documented responses, its memory use stays stable, and it still answers afterwards`, async () => {
  const random = seededRandom(20_250_105);
  const daemon = await startAgentd({
    env: {
      WEBCHAT_ALLOWED_ORIGINS: 'https://www.example.com',
      LOOP_GUARD_ENABLED: 'false',
      LOG_LEVEL: 'WARN',
      NODE_OPTIONS: SMALL_HEAP,
    },
  });
  const statuses = new Map<number | 'none', number>();
  const faults: string[] = [];
  const run = (count: number) =>
    inParallel(
      Array.from({ length: count }, () => generate(random)),
      24,
      async (request) => {
        const answers = await send(daemon, request);
        for (const status of answers.length > 0
          ? answers.map((answer) => answer.status)
          : ['none' as const]) {
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
        for (const [index, answer] of answers.entries()) {
          const found = fault(answer, request.head && index === 0);
          if (found !== null)
            faults.push(`${found}\nto ${JSON.stringify(String(request.pieces[0]).slice(0, 300))}`);
        }
      },
    );

  await run(WARM_UP);
  const before = residentBytes(daemon);
  for (let left = REQUESTS - WARM_UP; left > 0; left -= 1000) await run(Math.min(left, 1000));
  const grown = residentBytes(daemon) - before;

  expect(faults.slice(0, 5)).toEqual([]);
  expect(grown).toBeLessThan(GROWTH_MAX);
  // The generated requests must cause each of these statuses. Otherwise the checks above prove little.
  const wanted = [200, 204, 400, 404, 405, 413, 415, ...(isThorough ? [422, 431] : [])];
  for (const status of wanted) {
    expect(statuses.get(status), `number of answers with ${status}`).toBeGreaterThan(0);
  }
  expect(daemon.log().filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
  const after = await post(daemon.url, { user_id: 'ada', message: 'hello' });
  expect(after.status).toBe(200);
});
