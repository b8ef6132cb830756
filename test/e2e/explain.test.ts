import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { SECRET } from '../support/daemon.ts';
import { signToken } from '../support/fake-api.ts';
import { FakeModel } from '../support/fake-model.ts';
import { type Shop, startShop } from '../support/shop.ts';
import { lapsed, token } from '../support/tokens.ts';

// Tests `agentd explain`. It says why a conversation went as it did, on one screen, to a reader who knows only an id.

const LINES = 40;
const COLUMNS = 120;
const WHO = 'Who am I?';
const ISSUER = 'https://login.example.com';

let shop: Shop;
let model: FakeModel;
let chat: Shop;

beforeAll(async () => {
  model = await FakeModel.start();
  model.script(({ messages }) =>
    JSON.stringify(messages.at(-1)?.content).includes('hang')
      ? 'hang'
      : { status: 401, body: { error: { message: 'Incorrect API key provided: sk-a-key-of-the-tests' } } },
  );
  [shop, chat] = await Promise.all([
    startShop({
      env: { JWT_ISSUER: ISSUER, JWT_AUDIENCE: 'agentd', API_TIMEOUT_SECONDS: '1', SSE_ENABLED: 'true' },
    }),
    startShop({
      env: {
        AGENT_BASE_URL: model.url,
        AGENT_MODEL: 'scripted',
        AGENT_TIMEOUT_SECONDS: '1',
        AGENT_CONCURRENCY: '1',
        AGENT_QUEUE_MAX: '0',
        RATE_LIMIT_TOKEN_MAX: '1',
      },
    }),
  ]);
});

const right = (claims: Record<string, unknown> = {}, ttl = 3600) =>
  token({ ttl, claims: { iss: ISSUER, aud: 'agentd', ...claims } });

let requests = 0;
/** Sends a message. @returns the id of the request */
async function say(where: Shop, body: Record<string, unknown>, bearer?: string) {
  const request_id = `explained-${++requests}`;
  const answer = await where.say(
    { user_id: 'visitor', message: WHO, ...body },
    { headers: { 'X-Request-Id': request_id }, ...(bearer === undefined ? {} : { bearer }) },
  );
  const { status, body: answered } = answer;
  return { request_id, status, answered, session_id: answered.session_id as string };
}

/** Runs `explain`, checks what every output must satisfy, and returns the output. */
async function explain(where: Shop, id: string, ...options: string[]): Promise<string> {
  const { code, stdout, stderr } = await where.run('explain', id, ...options);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(LINES);
  for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(COLUMNS);
  // The first line has the date and time of the message. Each step has its time.
  expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /);
  expect(stdout).toMatch(/\n\d\d:\d\d:\d\d\.\d{3} /);
  expect(stdout).not.toMatch(/eyJ[A-Za-z0-9_-]{5}/);
  return stdout;
}

/**
 * Like `explain`, for a request that was refused before it became a message. The trace of such a request is stored
 * after the response is sent.
 */
async function explainRefused(where: Shop, id: string): Promise<string> {
  await expect.poll(async () => (await where.run('explain', id)).code).toBe(0);
  return explain(where, id);
}

/** Expects the reason as a headline, and below it what happened and what to do. */
function expectFinding(screen: string, reason: string, todo: RegExp): void {
  const [, happened, advice] =
    new RegExp(`\\n${reason}\\n  what happened: ([^]+?)\\n  what to do: +([^]+?)(?:\\n\\S|\\n*$)`).exec(
      screen,
    ) ?? [];
  expect(happened, screen).toMatch(/\S/);
  expect(advice?.replace(/\s+/g, ' ')).toMatch(todo);
}

describe('`agentd explain <request id>` says what happened, when, and what to do, if', () => {
  const now = () => Math.floor(Date.now() / 1000);
  test.each<[string, RegExp, () => string | Promise<string>]>([
    ['JWT Malformed', /the token alone, without quotes/, () => 'not-a-token'],
    ['Algorithm Not Allowed', /JWT_ALGORITHM/, () => token({ alg: 'HS512' })],
    [
      'Invalid Signature',
      /JWT_SECRET_KEY/,
      () => token({ secret: 'another-secret-of-at-least-256-bits-length' }),
    ],
    ['Missing Required Claims', /Have the site add all three claims/, () => right({ email: undefined })],
    ['Token Expired', /sign in again/, () => right({}, -60)],
    ['Token Not Yet Valid', /Compare the clocks/, () => right({ nbf: now() + 60 })],
    ['Invalid Issuer', /JWT_ISSUER/, () => right({ iss: 'https://other.example' })],
    ['Invalid Audience', /JWT_AUDIENCE/, () => right({ aud: 'other' })],
  ])('%s', async (reason, todo, make) => {
    const { request_id } = await say(shop, { message: 'Who is ada@example.com?' }, await make());
    const screen = await explain(shop, request_id);
    expectFinding(screen, reason, todo);
    expect(screen).toContain('credentials=default');
  });

  test('a token expired during the session', async () => {
    const bearer = await right({}, 3);
    const { session_id } = await say(shop, {}, bearer);
    await lapsed(bearer);
    const { request_id } = await say(shop, { session_id });
    expectFinding(await explain(shop, request_id), 'stored_token_expired', /sign in again/);
  });

  test('the business API answers 401 to the user’s token', async () => {
    const bearer = await right({ jti: 'revoked' });
    shop.api.revoke(bearer);
    const { request_id } = await say(shop, {}, bearer);
    const screen = await explain(shop, request_id);
    expectFinding(screen, 'user_token_refused', /trusts the same key, issuer and audience/);
    expect(screen).toMatch(/credentials=user .*status=401/s);
    expect(screen).toContain('credentials=default');
  });

  test('the business API does not answer in time', async () => {
    shop.api.misbehave('/users', 'hang', 1);
    const { request_id } = await say(shop, {}, await right());
    expectFinding(await explain(shop, request_id), 'timeout', /API_TIMEOUT_SECONDS/);
  });

  test('the business API is unreachable, or refuses the default credentials', async () => {
    const wrong = await startShop({ env: { API_PASSWORD: 'wrong' } });
    const refused = await say(wrong, { message: 'ada@example.com' });
    expectFinding(
      await explain(wrong, refused.request_id),
      'default_credentials_refused',
      /an account that the API knows/,
    );
    await wrong.api.close();
    const down = await say(wrong, {}, await token());
    expectFinding(await explain(wrong, down.request_id), 'unreachable', /API_BASE_URL/);
  });

  test('the model refuses the request', async () => {
    const { request_id, status, answered } = await say(chat, {});
    expect(status).toBe(502);
    const screen = await explain(chat, request_id);
    expectFinding(screen, 'model_refused', /AGENT_API_KEY/);
    // Only the operator sees what the model's server said, not the person who wrote the message.
    expect(screen).toMatch(/status=401\s+said="Incorrect API key provided: \[key\]"/);
    expect(JSON.stringify(answered)).not.toContain('API key');
  });

  test('the model takes too long, and the next message finds the queue full', async () => {
    const slow = say(chat, { message: 'hang' });
    await model.hanging;
    const full = await say(chat, { user_id: 'other' });
    expect(full.status).toBe(503);
    expectFinding(await explain(chat, full.request_id), 'queue_full', /AGENT_CONCURRENCY/);
    const { request_id, status } = await slow;
    expect(status).toBe(504);
    const screen = await explain(chat, request_id);
    expectFinding(screen, 'agent_timeout', /AGENT_TIMEOUT_SECONDS/);
  });

  test('the session belongs to somebody else', async () => {
    const { session_id } = await say(shop, {}, await right());
    const { request_id, status } = await say(shop, { session_id, user_id: 'eve' });
    expect(status).toBe(403);
    const screen = await explain(shop, request_id);
    expectFinding(screen, 'session_forbidden', /leave `session_id` out/);
    expect(screen).toContain('why=other_user');
    expect(screen).toContain('user eve');
  });

  test('the rate limit was exceeded', async () => {
    const bearer = await token({ sub: 'hasty' });
    await say(chat, { message: 'first' }, bearer);
    const { request_id, status } = await say(chat, { message: 'second' }, bearer);
    expect(status).toBe(429);
    expectFinding(await explainRefused(chat, request_id), 'rate_limited', /RATE_LIMIT_TOKEN_MAX/);
  });

  test('nothing went wrong', async () => {
    const { request_id } = await say(shop, {}, await right());
    const screen = await explain(shop, request_id);
    expect(screen).toContain('Nothing went wrong with this message.');
    expect(screen).toMatch(/credentials=user .*status=200/s);
  });
});

test('a rating shows in `explain`, `feedback list` and `feedback show`', async () => {
  const { answered, session_id, request_id } = await say(shop, {}, await right());
  const { message_id } = answered.metadata;
  const comment = 'It was Ada, not me.';
  const rate = (bearer?: string) =>
    shop.say(
      { session_id, message_id, rating: -1, comment },
      { path: '/feedback', ...(bearer && { bearer }) },
    );
  expect((await rate()).status).toBe(404);
  expect((await rate(await right({ sub: 'somebody else' }))).status).toBe(404);
  expect((await rate(await right())).status).toBe(200);
  expect(await explain(shop, message_id)).toContain(
    `rated bad, with a comment: agentd feedback show ${message_id}`,
  );
  const { stdout } = await shop.run('feedback', 'list', '--json');
  expect(JSON.parse(stdout)).toMatchObject([{ message_id, rating: -1, has_comment: true, session_id }]);
  expect(stdout).not.toContain(comment);
  expect((await shop.run('feedback', 'show', request_id)).stdout).toContain(`comment:\n  ${comment}\n`);
});

describe('`agentd explain` finds', () => {
  test('a session by its id, and shows its last messages, oldest first', async () => {
    const { session_id, request_id: first } = await say(shop, { message: 'Hello' });
    const { request_id: second } = await say(shop, { session_id, message: 'ada@example.com' });
    const { stdout } = await shop.run('explain', session_id);
    expect(stdout.indexOf(first)).toBeGreaterThan(0);
    expect(stdout.indexOf(second)).toBeGreaterThan(stdout.indexOf(first));
    const last = await explain(shop, session_id, '--limit', '1').catch((error: unknown) => error);
    expect(String(last)).toContain('The last 1 of 2; --limit shows more.');
    await shop.run('sessions', 'end', session_id);
    expect((await shop.run('explain', session_id)).stdout).toContain(first);
  });

  test('a message by its id, with or without the name of the channel', async () => {
    const { body } = await shop.say(
      { user_id: 'visitor', message: 'Hello' },
      { headers: { 'Idempotency-Key': 'order-4711', 'X-Request-Id': 'by-message' } },
    );
    for (const id of ['order-4711', 'webchat:order-4711']) {
      const screen = await explain(shop, id);
      expect(screen).toContain('by-message');
      expect(screen).toContain(body.session_id);
    }
    expect((await shop.run('explain', 'teamchat:order-4711')).code).toBe(1);
  });

  test('a repeated message, with the session of the first answer', async () => {
    const sayIt = (request_id: string) =>
      shop.say(
        { user_id: 'visitor', message: 'Hello' },
        { headers: { 'Idempotency-Key': 'twice', 'X-Request-Id': request_id } },
      );
    const { body } = await sayIt('once');
    await sayIt('once-more');
    // The trace is stored after the response was sent.
    const explained = async () => (await shop.run('explain', body.session_id)).stdout;
    await expect.poll(explained).toContain('request once-more');
    expect(await explained()).toContain('visitor  replayed in');
  });

  test('a request that was refused because of its body', async () => {
    await shop.say('{', { headers: { 'X-Request-Id': 'malformed' } });
    expect(await explainRefused(shop, 'malformed')).toContain('malformed_json');
  });

  test('a refused request for a stream', async () => {
    const url = shop.daemon.url;
    const told = async (stream_id: string, init: RequestInit, query = '') => {
      const response = await fetch(`${url}/sse/stream/${stream_id}${query}`, init);
      await response.body?.cancel();
      return response.status;
    };
    const { body } = await shop.say({ user_id: 'visitor', message: WHO }, { bearer: await right() });
    const begun = await fetch(`${url}/sse/chat`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ user_id: 'visitor', message: WHO, session_id: body.session_id }),
    });
    const { stream_id } = (await begun.json()) as { stream_id: string };
    const eve = `?token=${await right({ sub: 'eve' })}`;
    expect(await told(stream_id, { headers: { 'X-Request-Id': 'eve-reads' } }, eve)).toBe(403);
    expect(await told(stream_id, { method: 'DELETE', headers: { 'X-Request-Id': 'eve-stops' } }, eve)).toBe(
      403,
    );
    for (const id of ['eve-reads', 'eve-stops']) {
      const screen = await explainRefused(shop, id);
      expect(screen).toContain('sse  forbidden in');
      expectFinding(screen, 'forbidden', /a token of the person/);
    }
  });

  test('nothing for an unknown id: it exits with 1, and says where else to look', async () => {
    const { code, stdout, stderr } = await shop.run('explain', 'unknown-id');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain("nothing is known about 'unknown-id'");
    expect(stderr).toMatch(/\nTraces are kept for 7 days.*agentd logs/);
  });

  test('a message, and with --json prints one document that has the findings and no token', async () => {
    const expired = signToken(
      { sub: 'ada', email: 'ada@example.com', exp: 1, iss: ISSUER, aud: 'agentd' },
      SECRET,
    );
    const { request_id } = await say(shop, {}, expired);
    const { code, stdout } = await shop.run('explain', request_id, '--json');
    expect(code).toBe(0);
    const { id, traces } = JSON.parse(stdout);
    expect(id).toBe(request_id);
    expect(traces).toHaveLength(1);
    expect(traces[0]).toMatchObject({ request_id, platform: 'webchat', outcome: 'answered' });
    expect(traces[0].findings).toContainEqual(expect.objectContaining({ reason: 'Token Expired' }));
    expect(stdout).not.toContain(expired);
  });

  test('the longest ids, and prints them in full on one screen', async () => {
    const [key, request_id] = [randomUUID().padEnd(255, 'k'), randomUUID().padEnd(64, 'r')];
    const { body } = await shop.say(
      { user_id: 'u'.repeat(256), message: 'Who is ada@example.com?' },
      { headers: { 'Idempotency-Key': key, 'X-Request-Id': request_id } },
    );
    const { stdout } = await shop.run('explain', request_id);
    for (const id of [body.session_id, key]) expect(stdout).toContain(id);
    const rows = stdout.split('\n').reduce((sum, line) => sum + Math.ceil(line.length / COLUMNS), 0);
    // The time of a slow step needs a wider column, so that details may need further lines.
    expect(rows).toBeLessThanOrEqual(LINES + 3);
  });
});
