import { describe, expect, it } from 'vitest';
import type { ChannelRequest } from '../../../src/channel/index.ts';
import { type PersonKey, personKey, type TokenVerdict } from '../../../src/daemon/identity/identity.ts';
import type { Services } from '../../../src/daemon/message/services.ts';
import type { StreamRecord } from '../../../src/daemon/store/streams.ts';
import {
  type AdmittedReader,
  admitReader,
  refuseForeignPage,
} from '../../../src/daemon/stream/admit-reader.ts';

/* agentd-message(7), "Whose stream it is". */

const ADA = personKey({ sub: 'ada' });
const BOB = personKey({ sub: 'bob' });
const POSTED = 1000;

/**
 * `ada` is a valid token of Ada, `ada.2` another one, and `ada-late` one that has expired since the message was posted.
 */
function validate(token: string): TokenVerdict {
  const [, sub = '', late] = /^(\w+)(?:\.2)?(-late)?$/.exec(token) ?? [];
  const person = personKey({ sub });
  if (late !== undefined)
    return { valid: false, reason: 'Token Expired', expired: { person, at: POSTED + 1 } };
  if (sub !== 'ada' && sub !== 'bob') return { valid: false, reason: 'JWT Malformed' };
  return { valid: true, person } as TokenVerdict;
}

interface Case {
  stream?: Partial<Pick<StreamRecord, 'owner' | 'reader' | 'token'>>;
  start?: object;
  /** The session that the stream names. */
  session?: { session_id: string; owner: PersonKey } | null;
  cookies?: string[];
  query?: string;
  method?: string;
  after?: number;
  /** SSE_REQUIRE_TOKEN */
  required?: boolean;
}

function admit({
  stream,
  start,
  session = null,
  cookies = [],
  query,
  method = 'GET',
  after = 0,
  required = false,
}: Case): Promise<AdmittedReader> {
  const services = {
    tokens: { validate: async (token: string) => validate(token) },
    store: { sessions: { find: async () => session } },
    seal: { open: (stored: string) => stored },
  } as unknown as Services;
  const record = {
    ...{ stream_id: 's', owner: null, reader: null, token: null, ...stream },
    start: {
      ...{ session_id: 't', token_given: false, cookie_person: null, accepted_at: POSTED },
      ...{ message: { metadata: {} }, ...start },
    },
  } as unknown as StreamRecord;
  const tokens = { ambient: cookies, explicit: query, required };
  const request = { method, id: 'r', headers: {} } as ChannelRequest;
  return admitReader(services, record, request, { tokens, after });
}
const code = (of: Case) =>
  admit(of).then(
    () => 'admitted',
    (error: { code?: string }) => error.code,
  );

describe('a stream whose message says “signed out”', () => {
  it('uses no cookie, and refuses none', async () => {
    const start = { message: { metadata: { jwt_token: null } } };
    const session = { session_id: 't', owner: ADA };
    expect(await admit({ start, session, cookies: ['bob'] })).toMatchObject({
      token: null,
      claimant: { owner: null, reader: null },
    });
  });
});

it.each<Case>([
  {},
  { start: { cookie_person: BOB } },
  { stream: { token: 'wrong' }, start: { token_given: true } },
])('a cookie does not act for a person whose message did not come with it: %j', async (of) => {
  const { token, claimant } = await admit({ ...of, cookies: ['ada'] });
  expect([token, claimant.owner]).toEqual([of.stream?.token, null]);
});

describe('a stream in a session with an owner', () => {
  it('is refused to others, unless the session has had another id since', async () => {
    const owned = (session_id: string) => ({ session: { session_id, owner: ADA }, query: 'bob' });
    expect(await code(owned('t'))).toBe('forbidden');
    expect(await admit(owned('after sign-in'))).toMatchObject({ claimant: { owner: BOB, reader: BOB } });
  });
});

describe('a stream of a person', () => {
  it.each([
    { cookies: ['ada'], query: 'bob' },
    { cookies: ['bob'], query: 'ada' },
  ])('is refused to a request with another token of somebody else: %j', async (tokens) => {
    expect(await code({ stream: { owner: ADA }, ...tokens })).toBe('forbidden');
  });

  it('is read with its id if the cookie of its message counts, even if a token in the address came with it', async () => {
    const start = { cookie_person: ADA };
    const claimant = { owner: ADA, reader: null };
    expect(await admit({ start, cookies: ['ada'], query: 'ada.2' })).toMatchObject({
      token: 'ada',
      claimant,
    });
    expect(await admit({ start, query: 'ada' })).toMatchObject({ claimant: { owner: ADA, reader: ADA } });
  });
});

describe('a stream with a reader', () => {
  const stream = { owner: ADA, reader: ADA };

  it('can be read with the cookie of the reader only if the message came with it', async () => {
    expect(await code({ stream, cookies: ['ada'] })).toBe('forbidden');
    expect(await code({ stream, start: { cookie_person: ADA }, cookies: ['ada'] })).toBe('admitted');
  });

  it.each<Case>([{}, { query: 'bob' }, { query: 'wrong' }, { cookies: ['bob'] }])(
    'can be neither read, resumed nor stopped without a token of the reader: %j',
    async (tokens) => {
      const requests = [{}, { after: 1 }, { method: 'DELETE' }];
      for (const request of requests) expect(await code({ stream, ...tokens, ...request })).toBe('forbidden');
      for (const request of requests)
        expect(await code({ stream, query: 'ada', ...request })).toBe('admitted');
    },
  );

  it.each([
    [{ query: 'ada-late', after: 1 }, 'admitted'],
    [{ query: 'bob-late', after: 1 }, 'forbidden'],
    [{ query: 'ada-late' }, 'forbidden'],
    [{ query: 'ada-late', after: 1, method: 'DELETE' }, 'forbidden'],
    [{ query: 'ada-late', after: 1, start: { accepted_at: POSTED + 1 } }, 'forbidden'],
  ])(
    'can be resumed, but neither read from the start nor stopped, with a token of the reader that has expired since: %j',
    async (of, expected) => {
      expect(await code({ stream, ...of })).toBe(expected);
    },
  );
});

it('a token that was refused with the message is not validated again, but another one is', async () => {
  const stream = { token: 'ada' };
  const start = { token_given: true, token_refused: 'Token Expired' };
  expect((await admit({ stream, start })).claimant.owner).toBeNull();
  expect((await admit({ stream, start, query: 'bob' })).claimant.owner).toBe(BOB);
});

it('of several cookies none counts', async () => {
  const start = { cookie_person: ADA };
  expect(await admit({ start, cookies: ['ada', 'ada.2'] })).toMatchObject({
    token: undefined,
    claimant: { owner: null },
  });
});

it.each<[of: Case, expected: string]>([
  [{}, 'token_missing'],
  [{ cookies: ['ada'] }, 'token_missing'],
  [{ start: { cookie_person: ADA }, cookies: ['ada'] }, 'admitted'],
  [{ query: 'wrong' }, 'admitted'],
  [{ start: { token_given: true } }, 'admitted'],
])(
  'with SSE_REQUIRE_TOKEN, some token must be supplied, also an invalid one, or one with the message: %j',
  async (of, expected) => {
    expect(await code({ ...of, required: true })).toBe(expected);
    expect(await code(of)).toBe('admitted');
  },
);

describe('a request for a stream', () => {
  const SITE = 'https://shop.example';
  const judged = (headers: Record<string, string>) => () =>
    refuseForeignPage(
      { headers },
      { ambient: 'cookie' in headers ? ['x'] : [] },
      { WEBCHAT_ALLOWED_ORIGINS: [SITE] },
    );
  const fetched = (mode: string, site: string) => ({ 'sec-fetch-mode': mode, 'sec-fetch-site': site });

  it.each<[what: string, headers: Record<string, string>]>([
    ['a link', fetched('navigate', 'cross-site')],
    ['a link on the same origin', fetched('navigate', 'same-origin')],
    ['an address that somebody typed', fetched('navigate', 'none')],
    ['an image', fetched('no-cors', 'cross-site')],
    ['a script of a sibling host', fetched('cors', 'same-site')],
    ['a script of a foreign site', { ...fetched('cors', 'cross-site'), origin: 'https://evil.example' }],
    ['a page of an old browser', { cookie: 'jwt_token=x', accept: 'text/html,*/*' }],
  ])('is refused if it comes from %s', (_what, headers) => {
    expect(judged(headers)).toThrow(expect.objectContaining({ code: 'forbidden' }));
  });

  it.each<[what: string, headers: Record<string, string>]>([
    ['a script of the same origin', fetched('cors', 'same-origin')],
    ['a script of an allowed origin', { ...fetched('cors', 'cross-site'), origin: SITE }],
    ['a program', {}],
    ['a program that accepts HTML', { accept: 'text/html' }],
  ])('is not refused if it comes from %s', (_what, headers) => {
    expect(judged(headers)).not.toThrow();
  });
});
