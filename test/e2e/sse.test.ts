import { beforeAll, describe, expect, it } from 'vitest';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { Dictation } from '../support/dictation.ts';
import {
  eventsIn,
  type ReadOptions,
  read,
  readAll,
  type Seen,
  start,
  startRaw,
} from '../support/event-stream.ts';
import { token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

const COOKIE_CLEARED = 'jwt_token=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax';

let dictation: Dictation;
let daemon: DaemonHere;

beforeAll(async () => {
  dictation = await Dictation.start();
  daemon = await startDaemonHere({
    env: {
      ...dictation.env,
      SSE_ENABLED: 'true',
      WEBCHAT_ALLOWED_ORIGINS: 'https://shop.example',
      TOKEN_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      LOG_LEVEL: 'DEBUG',
    },
  });
});

const names = (events: readonly Seen[]) => events.map(({ event }) => event);

function said(events: readonly Seen[]): string {
  return events
    .filter(({ event }) => event === 'text_chunk')
    .map(({ data }) => data.text)
    .join('');
}

/** Reads the stream to its end. @returns the answer of the agent */
async function reply(stream_id: string, options: Parameters<typeof readAll>[2] = {}): Promise<string> {
  return (await readAll(daemon.url, stream_id, options)).events.at(-1)?.data.response;
}

const code = async (response: Response) => [
  response.status,
  ((await response.json()) as { code: string }).code,
];

describe('a stream', () => {
  it('sends the answer as documented: the start, the text, and the end as two events', async () => {
    const stream_id = await start(daemon.url, { user_id: 'ada', message: 'count 3' });
    expect(stream_id).toMatch(/^sse_[A-Za-z0-9_-]{22}$/);
    const { status, head, text, events, whole } = await readAll(daemon.url, stream_id);
    expect([status, whole]).toEqual([200, true]);
    expect(head).toMatch(/^content-type: text\/event-stream; charset=utf-8$/im);
    expect(head).toMatch(/^cache-control: no-cache, no-transform$/im);
    expect(head).toMatch(/^x-accel-buffering: no$/im);
    expect(text.match(/^retry: \d+$/gm)).toHaveLength(1);
    const session_id = events[0]?.data.session_id;
    expect(session_id).toMatch(/^sse_ada_[A-Za-z0-9_-]{22}$/);
    const metadata = { message_id: expect.any(String) };
    const end = { stream_id, session_id, response: 'word1 word2 word3 ', metadata };
    expect(events[0]).toEqual({ id: '1', event: 'stream_start', data: { stream_id, session_id } });
    expect(said(events)).toBe(end.response);
    expect(events.slice(-2)).toEqual([
      { id: String(events.length - 1), event: 'complete', data: end },
      { id: String(events.length), event: 'stream_complete', data: end },
    ]);
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, index) => index + 1));
  });

  it('sends words to all readers as they are written, and runs once', async () => {
    const stream_id = await start(daemon.url, { user_id: 'ada', message: 'two readers' });
    const readers = [read(daemon.url, stream_id), read(daemon.url, stream_id)];
    for (const piece of ['One. ', 'Two. ']) {
      dictation.say('two readers', piece);
      await Promise.all(readers.map((reader) => reader.holds(piece)));
    }
    const late = read(daemon.url, stream_id);
    await late.holds('Two. ');
    dictation.end('two readers');
    const texts = await Promise.all([...readers, late].map(async (reader) => (await reader.ended).text));
    expect(new Set(texts.map((text) => JSON.stringify(eventsIn(text)))).size).toBe(1);
    expect(said(eventsIn(texts[0] ?? ''))).toBe('One. Two. ');
    expect(dictation.runs.filter((run) => run === 'two readers')).toHaveLength(1);
  });

  it('runs when it is opened, not before and not for HEAD, and only once, however many readers open it at once', async () => {
    const stream_id = await start(
      daemon.url,
      { user_id: 'ada', message: 'once' },
      { 'Idempotency-Key': 'opened-by-many' },
    );
    const head = await fetch(`${daemon.url}/sse/stream/${stream_id}`, {
      method: 'HEAD',
      headers: { 'X-Request-Id': 'only-a-look' },
    });
    expect([head.status, head.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    expect(dictation.runs).not.toContain('once');
    const readers = Array.from({ length: 10 }, () => read(daemon.url, stream_id));
    dictation.say('once', 'Yes.');
    dictation.end('once');
    for (const reader of readers) expect(said(eventsIn((await reader.ended).text))).toBe('Yes.');
    expect(dictation.runs.filter((run) => run === 'once')).toHaveLength(1);
    expect(daemon.log().some(({ opened_by }) => opened_by === 'only-a-look')).toBe(false);
  });

  it('continues when its reader disconnects', async () => {
    const stream_id = await start(daemon.url, { user_id: 'ada', message: 'left alone' });
    const reader = read(daemon.url, stream_id);
    dictation.say('left alone', 'Before. ');
    await reader.holds('Before. ');
    reader.socket.destroy();
    await reader.ended;
    dictation.say('left alone', 'After.');
    dictation.end('left alone');
    expect(await reply(stream_id, { headers: { 'Last-Event-ID': '2' } })).toBe('Before. After.');
  });

  it('ends with an error that has a code, and a text without internal details', async () => {
    const stream_id = await start(daemon.url, { user_id: 'ada', message: 'breaks' });
    dictation.say('breaks', 'Half');
    dictation.fail('breaks');
    const { events } = await readAll(daemon.url, stream_id);
    expect(names(events)).toEqual(['stream_start', 'text_chunk', 'error']);
    expect(events.at(-1)?.data).toEqual({ code: 'agent_failed', message: 'The agent could not answer.' });
  });

  it('is logged with the id of the request that posted it and the id of the request that opened it', async () => {
    const stream_id = await start(
      daemon.url,
      { user_id: 'ada', message: 'count 1' },
      { 'X-Request-Id': 'posted-1' },
    );
    await readAll(daemon.url, stream_id, { headers: { 'X-Request-Id': 'opened-1' } });
    await daemon.logged(
      ({ msg, request_id, opened_by }) =>
        msg === 'message answered' && request_id === 'posted-1' && opened_by === 'opened-1',
    );
    expect(daemon.stderr()).not.toContain(stream_id);
  });
});

describe('stopping', () => {
  it('makes the text written so far the reply, and stores it', async () => {
    const stream_id = await start(daemon.url, { user_id: 'ada', message: 'long story' });
    const reader = read(daemon.url, stream_id);
    dictation.say('long story', 'Once ', 'upon ');
    await reader.holds('upon ');
    const stopped = await fetch(`${daemon.url}/sse/stream/${stream_id}`, { method: 'DELETE' });
    expect([stopped.status, await stopped.text()]).toEqual([204, '']);
    const events = eventsIn((await reader.ended).text);
    const session_id = events[0]?.data.session_id;
    const data = { stream_id, session_id, response: 'Once upon ', stopped: true };
    expect(events.slice(-2)).toMatchObject([
      { event: 'complete', data },
      { event: 'stream_complete', data },
    ]);
    const next = await post(daemon.url, { user_id: 'ada', message: 'history', session_id });
    expect(next.body.response).toBe('[["long story","Once upon "]]');
  });

  it('ends a stream that nobody has opened: its answer is empty', async () => {
    const stream_id = await start(daemon.url, { user_id: 'ada', message: 'me' });
    expect((await fetch(`${daemon.url}/sse/stream/${stream_id}`, { method: 'DELETE' })).status).toBe(204);
    const { events } = await readAll(daemon.url, stream_id);
    expect(events.map(({ event }) => event)).toEqual(['stream_start', 'complete', 'stream_complete']);
    for (const { data } of events.slice(1)) expect(data).toMatchObject({ response: '', stopped: true });
  });
});

describe('tokens', () => {
  it('are read from the cookie, then the query, then the message, and the first valid token is used', async () => {
    const ada = await token({ sub: 'ada' });
    const other = await token({ sub: 'ada', email: 'query@example.com' });
    const third = await token({ sub: 'ada', email: 'cookie@example.com' });
    const me = (body: object = {}) => start(daemon.url, { user_id: 'u', message: 'me', ...body });
    const cookie = { Cookie: `a=b; jwt_token=${third}` };
    expect(await reply(await me())).toBe('nobody');
    expect(await reply(await me({ jwt_token: ada }))).toBe('ada@example.com');
    const body = { user_id: 'u', message: 'me', jwt_token: ada };
    const inHeader = await start(daemon.url, body, { Authorization: `Bearer ${other}` });
    expect(await reply(inHeader)).toBe('query@example.com');
    expect(await reply(await me({ jwt_token: ada }), { query: `token=${other}` })).toBe('query@example.com');
    expect(await reply(await me({ jwt_token: ada }), { query: `token=${other}`, headers: cookie })).toBe(
      'cookie@example.com',
    );
    expect(await reply(await me(), { headers: { Cookie: 'jwt_token=bad' }, query: `token=${other}` })).toBe(
      'query@example.com',
    );
    expect(await reply(await me(), { headers: { Cookie: 'jwt_token=' }, query: `token=${other}` })).toBe(
      'query@example.com',
    );
  });

  it('are set as a cookie if they fit, and clear the cookie if they do not fit or are null', async () => {
    const cookie = async (body: object, headers = {}) =>
      (await startRaw(daemon.url, { user_id: 'u', message: 'count 1', ...body }, headers)).headers.get(
        'set-cookie',
      );
    const ada = await token({ sub: 'ada' });
    const kept = (value: string) =>
      `jwt_token=${value}; Max-Age=3600; Path=/; HttpOnly; Secure; SameSite=Lax`;
    expect(await cookie({})).toBeNull();
    expect(await cookie({ jwt_token: ada })).toBe(kept(ada));
    expect(await cookie({}, { Authorization: `Bearer ${ada}` })).toBe(kept(ada));
    expect(await cookie({ jwt_token: 'not.valid' })).toBe(kept('not.valid'));
    expect(await cookie({ jwt_token: 'a;b' })).toBe(COOKIE_CLEARED);
    expect(await cookie({ jwt_token: 'x'.repeat(5000) })).toBe(COOKIE_CLEARED);
    expect(await cookie({ jwt_token: null })).toBe(COOKIE_CLEARED);
    expect(await cookie({ metadata: { jwt_token: ada } })).toBeNull();
  });
});

// Tests agentd-message(7), "Whose stream it is".
describe('whose stream it is:', () => {
  const cookie = (value: string) => ({ Cookie: `jwt_token=${value}` });
  let [ada, bob] = ['', ''];
  beforeAll(async () => {
    [ada, bob] = await Promise.all([token({ sub: 'ada' }), token({ sub: 'bob' })]);
  });

  /** Starts a stream. Its answer shows for whom its run acts. */
  const me = (body: object = {}, headers: Record<string, string> = {}) =>
    start(daemon.url, { user_id: 'u', message: 'me', ...body }, headers);

  /** Returns the code of the problem. */
  async function refusal(stream_id: string, options: ReadOptions = {}): Promise<string> {
    return JSON.parse((await readAll(daemon.url, stream_id, options)).text).code;
  }

  it('a cookie counts only if the message came with a cookie of the same person', async () => {
    const headers = cookie(ada);
    expect(await reply(await me({}, headers), { headers })).toBe('ada@example.com');
    expect(await reply(await me(), { headers })).toBe('nobody');
    expect(await reply(await me({}, cookie(bob)), { headers })).toBe('nobody');
  });

  it('a stream in the session of a person is refused to the cookie of somebody else, even if the session stores a sign-in', async () => {
    const { session_id } = (await post(daemon.url, { user_id: 'u', message: 'me', jwt_token: ada })).body;
    const stream_id = await me({ session_id });
    expect(await refusal(stream_id, { headers: cookie(bob) })).toBe('forbidden');
    expect(await reply(stream_id)).toBe('ada@example.com');
  });

  it('a stream that got its owner from the token in its address can be read and stopped, and its answer repeated, only with a token of that person', async () => {
    const headers = { 'Idempotency-Key': 'mine' };
    const stream_id = await me({}, headers);
    expect(await reply(stream_id, { query: `token=${ada}` })).toBe('ada@example.com');
    for (const query of ['', `token=${bob}`])
      for (const method of ['GET', 'DELETE'])
        expect(await refusal(stream_id, { query, method })).toBe('forbidden');
    const { body } = await post(daemon.url, { user_id: 'u', message: 'me' }, { headers });
    expect(body.code).toBe('session_forbidden');
    expect(await reply(stream_id, { query: `token=${ada}` })).toBe('ada@example.com');
    expect((await readAll(daemon.url, stream_id, { query: `token=${ada}`, method: 'DELETE' })).status).toBe(
      204,
    );
  });

  it('a stream can be neither read nor stopped by following a link', async () => {
    const stream_id = await me();
    const headers = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Site': 'cross-site' };
    expect(await refusal(stream_id, { headers })).toBe('forbidden');
    expect(await refusal(stream_id, { headers, method: 'DELETE' })).toBe('forbidden');
    expect(await reply(stream_id)).toBe('nobody');
  });
});

describe('an Idempotency-Key', () => {
  const key = (value: string) => ({ 'Idempotency-Key': value });

  it('gets the same stream again, before and after it has run, and 422 with a different body', async () => {
    const body = { user_id: 'ada', message: 'count 2' };
    const other = { user_id: 'ada', message: 'count 3' };
    const stream_id = await start(daemon.url, body, key('same'));
    expect(await start(daemon.url, body, key('same'))).toBe(stream_id);
    expect((await post(daemon.url, other, { headers: key('same') })).body.code).toBe(
      'idempotency_key_reused',
    );
    await readAll(daemon.url, stream_id);
    expect(await start(daemon.url, body, key('same'))).toBe(stream_id);
    expect(await code(await startRaw(daemon.url, other, key('same')))).toEqual([
      422,
      'idempotency_key_reused',
    ]);
    expect((await post(daemon.url, other, { headers: key('same') })).body.code).toBe(
      'idempotency_key_reused',
    );
    expect(daemon.stderr()).toContain('[LoopGuard] DUPLICATE platform=sse user=ada message_id=same');
    const another = await start(daemon.url, { user_id: 'bob', message: 'count 2' }, key('same'));
    expect(another).not.toBe(stream_id);
  });

  it('causes one run if the message is sent over both channels, first as a stream', async () => {
    const body = { user_id: 'ada', message: 'stream first' };
    const stream_id = await start(daemon.url, body, key('stream-first'));
    const reader = read(daemon.url, stream_id);
    await dictation.begun('stream first');
    expect((await post(daemon.url, body, { headers: key('stream-first') })).body.code).toBe(
      'duplicate_in_progress',
    );
    dictation.say('stream first', 'Once.');
    dictation.end('stream first');
    const { session_id } = eventsIn((await reader.ended).text)[0]?.data ?? {};
    const answer = await post(daemon.url, body, { headers: key('stream-first') });
    expect(answer.body).toMatchObject({ response: 'Once.', session_id });
    expect(answer.headers.get('idempotency-replayed')).toBe('true');
    expect(dictation.runs.filter((run) => run === 'stream first')).toHaveLength(1);
  });

  it('gets the answer of the first message on the stream of a repeat', async () => {
    const body = { user_id: 'ada', message: 'count 2' };
    const { response, session_id } = (await post(daemon.url, body, { headers: key('stream-last') })).body;
    const stream_id = await start(daemon.url, body, key('stream-last'));
    const { events } = await readAll(daemon.url, stream_id);
    expect(events[0]).toMatchObject({ event: 'stream_start', data: { stream_id, session_id } });
    expect([said(events), events.at(-1)?.data]).toMatchObject([
      response,
      { stream_id, session_id, response },
    ]);
  });
});

describe('browsers of allowed origins', () => {
  it('can post, open and stop with credentials; browsers of other origins cannot', async () => {
    const asked = (path: string, method: string, origin = 'https://shop.example') =>
      fetch(`${daemon.url}${path}`, {
        method: 'OPTIONS',
        headers: { Origin: origin, 'Access-Control-Request-Method': method },
      });
    for (const [path, method] of [
      ['/sse/chat', 'POST'],
      ['/sse/stream/sse_x', 'GET'],
      ['/sse/stream/sse_x', 'DELETE'],
    ] as const) {
      const { headers } = await asked(path, method);
      expect(headers.get('access-control-allow-origin')).toBe('https://shop.example');
      expect(headers.get('access-control-allow-credentials')).toBe('true');
      expect(headers.get('access-control-allow-methods')).toContain(method);
      expect(
        (await asked(path, method, 'https://evil.example')).headers.has('access-control-allow-origin'),
      ).toBe(false);
    }
  });
});
