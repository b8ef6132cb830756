import { beforeAll, describe, expect, it } from 'vitest';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';
import { Dictation } from '../support/dictation.ts';
import { type ReadOptions, readAll, start } from '../support/event-stream.ts';
import { lapsed, token } from '../support/tokens.ts';
import { post } from '../support/webchat.ts';

// Tests agentd-message(7), "Whose stream it is". A browser sends a cookie even if it follows a link that somebody else
// made.

const SITE = 'https://shop.example';

let dictation: Dictation;
let daemon: DaemonHere;
let [ada, bob] = ['', ''];

beforeAll(async () => {
  dictation = await Dictation.start();
  daemon = await startDaemonHere({
    env: {
      ...dictation.env,
      SSE_ENABLED: 'true',
      WEBCHAT_ALLOWED_ORIGINS: SITE,
      LOOP_GUARD_ENABLED: 'false',
      RATE_LIMIT_ANONYMOUS_MAX: '100000',
    },
  });
  [ada, bob] = await Promise.all([token({ sub: 'ada' }), token({ sub: 'bob' })]);
});

const cookie = (...values: string[]) => ({ Cookie: values.map((value) => `jwt_token=${value}`).join('; ') });
const url = (stream_id: string) => `${daemon.url}/sse/stream/${stream_id}`;

/** Starts a stream. Its answer shows for whom its run acts. */
function me(body: object = {}, headers: Record<string, string> = {}): Promise<string> {
  return start(daemon.url, { user_id: 'u', message: 'me', ...body }, headers);
}

/** Returns the answer of the agent, or the status if there is no answer. */
async function reply(stream_id: string, options: ReadOptions = {}): Promise<string | number> {
  const { status, events } = await readAll(daemon.url, stream_id, options);
  return status === 200 ? events.at(-1)?.data.response : status;
}

async function refusal(stream_id: string, init: RequestInit = {}, query = ''): Promise<unknown[]> {
  const response = await fetch(`${url(stream_id)}${query}`, init);
  const { code } = (await response.json()) as { code: string };
  return [response.status, code];
}

describe('a cookie', () => {
  it('does not act for a person who opens a stream that somebody else began', async () => {
    expect(await reply(await me(), { headers: cookie(ada) })).toBe('nobody');
    expect(await reply(await me({}, cookie(bob)), { headers: cookie(ada) })).toBe('nobody');
    expect(await reply(await me({ jwt_token: 'x.y.z' }), { headers: cookie(ada) })).toBe('nobody');
  });

  it('is refused if it belongs to a different person than the owner of the session, even if the session stores a sign-in', async () => {
    const { session_id } = (await post(daemon.url, { user_id: 'u', message: 'me', jwt_token: ada })).body;
    const stream_id = await me({ session_id });
    expect(await refusal(stream_id, { headers: cookie(bob) })).toEqual([403, 'forbidden']);
    expect(await reply(stream_id)).toBe('ada@example.com');
  });

  it('counts if the message came with a cookie of the same person, unless there are several', async () => {
    const headers = cookie(ada);
    expect(await reply(await me({}, headers), { headers })).toBe('ada@example.com');
    expect(await reply(await me({}, cookie(ada, ada)), { headers })).toBe('nobody');
    expect(await reply(await me({}, headers), { headers: cookie(ada, ada) })).toBe('nobody');
  });

  it('does not count for a message that says “signed out”', async () => {
    const stream_id = await me({ jwt_token: null }, cookie(ada));
    expect(await reply(stream_id, { headers: cookie(ada) })).toBe('nobody');
  });
});

describe('a stream that got its owner from the token of its message', () => {
  it('can be read with its id alone, even if it was opened with a token in its address', async () => {
    const stream_id = await me({ jwt_token: ada });
    expect(await reply(stream_id, { query: `token=${ada}` })).toBe('ada@example.com');
    expect(await reply(stream_id)).toBe('ada@example.com');
  });
});

describe('a stream that got its owner from the token in its address', () => {
  async function adas(): Promise<string> {
    const stream_id = await me();
    expect(await reply(stream_id, { query: `token=${ada}` })).toBe('ada@example.com');
    return stream_id;
  }

  it('can be read again and stopped only with a token of that person', async () => {
    const stream_id = await adas();
    for (const [init, query] of [
      [{}, ''],
      [{ headers: { 'Last-Event-ID': '1' } }, ''],
      [{}, `?token=${bob}`],
      [{}, '?token=x.y.z'],
      [{ headers: cookie(bob) }, ''],
      [{ method: 'DELETE' }, ''],
      [{ method: 'DELETE' }, `?token=${bob}`],
    ] as const) {
      expect(await refusal(stream_id, init, query)).toEqual([403, 'forbidden']);
    }
    expect(await reply(stream_id, { query: `token=${ada}` })).toBe('ada@example.com');
    // The message was sent without sign-in, so a cookie gives no access.
    expect(await refusal(stream_id, { headers: cookie(ada) })).toEqual([403, 'forbidden']);
    expect(await refusal(stream_id, { method: 'DELETE', headers: cookie(ada) })).toEqual([403, 'forbidden']);
    expect((await fetch(`${url(stream_id)}?token=${ada}`, { method: 'DELETE' })).status).toBe(204);
  });

  it('has an answer that a repeat of the message gets only with a token of that person', async () => {
    const headers = { 'Idempotency-Key': 'mine' };
    const stream_id = await me({}, headers);
    expect(await reply(stream_id, { query: `token=${ada}` })).toBe('ada@example.com');
    const { body } = await post(daemon.url, { user_id: 'u', message: 'me' }, { headers });
    expect(body.code).toBe('session_forbidden');
  });

  it('can be resumed, but neither read from the start nor stopped, with a token that has expired meanwhile', async () => {
    const early = await token({ sub: 'ada', ttl: -1 });
    const late = await token({ sub: 'ada', ttl: 2 });
    const stream_id = await adas();
    await lapsed(late);
    const resumed = await readAll(daemon.url, stream_id, {
      query: `token=${late}`,
      headers: { 'Last-Event-ID': '1' },
    });
    expect(resumed.events[0]?.id).toBe('2');
    expect(await refusal(stream_id, {}, `?token=${late}`)).toEqual([403, 'forbidden']);
    const stop = { method: 'DELETE', headers: { 'Last-Event-ID': '1' } };
    expect(await refusal(stream_id, stop, `?token=${late}`)).toEqual([403, 'forbidden']);
    expect(await refusal(stream_id, {}, `?token=${early}&last_event_id=1`)).toEqual([403, 'forbidden']);
  });
});

describe('a request for a stream', () => {
  const foreign: [string, Record<string, string>][] = [
    ['a link', { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Site': 'cross-site' }],
    ['a link on the same origin', { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Site': 'same-origin' }],
    ['an address that somebody typed', { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Site': 'none' }],
    ['an image', { 'Sec-Fetch-Mode': 'no-cors', 'Sec-Fetch-Site': 'cross-site' }],
    ['a script of a sibling host', { 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Site': 'same-site' }],
    [
      'a script of a foreign site',
      { 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' },
    ],
    ['a page of an old browser', { Cookie: 'jwt_token=x', Accept: 'text/html,*/*' }],
  ];

  it.each(foreign)('is refused if it comes from %s', async (_what, headers) => {
    const stream_id = await me();
    for (const method of ['GET', 'DELETE']) {
      const answer = await readAll(daemon.url, stream_id, { headers, method });
      expect(answer.status).toBe(403);
      expect(JSON.parse(answer.text).code).toBe('forbidden');
    }
    expect(await reply(stream_id)).toBe('nobody');
  });

  const own: [string, Record<string, string>][] = [
    ['a script of the same origin', { 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Site': 'same-origin' }],
    [
      'a script of an allowed origin',
      { 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Site': 'cross-site', Origin: SITE },
    ],
    ['a program', {}],
    ['a program that accepts HTML', { Accept: 'text/html' }],
  ];

  it.each(own)('is not refused if it comes from %s', async (_what, headers) => {
    expect(await reply(await me(), { headers })).toBe('nobody');
  });
});
