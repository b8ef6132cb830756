import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CHANNEL_TITLES } from '../../../plugins/names.ts';
import type { PushChannel, PushPlugin } from '../../../src/channel/index.ts';
import { linkRoutes } from '../../../src/daemon/http/link-routes.ts';
import { createServer } from '../../../src/daemon/http/server.ts';
import { personKey } from '../../../src/daemon/identity/identity.ts';
import { InboxWorker } from '../../../src/daemon/inbox/work.ts';
import { codeHashes } from '../../../src/daemon/linking/codes-in-text.ts';
import { findLink } from '../../../src/daemon/linking/find-link.ts';
import { link } from '../../../src/daemon/linking/links.ts';
import type { Services } from '../../../src/daemon/message/services.ts';
import { StoreFull } from '../../../src/daemon/store/failures.ts';
import { CODES_MAX } from '../../../src/daemon/store/links/link-codes.ts';
import { aPendingAction, aSession, aTrace } from '../../contract/fixtures.ts';
import { commitUnderClaim, saveSession } from '../../contract/store-writes.ts';
import { dropLink } from '../../support/drop-link.ts';
import { TELEX } from '../../support/later-services.ts';
import type { LogLine } from '../../support/log-lines.ts';
import { testServices } from '../../support/services.ts';
import { token } from '../../support/tokens.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';

const ORIGIN = 'https://shop.example';
/** A channel whose users are phone numbers. */
const PHONE: PushPlugin = {
  ...{ ...TELEX, name: 'phone' },
  linking: {
    argument: 'NUMBER',
    idsOf: (given) => [given],
    comparePhone: (user_id, phone) => (phone === user_id ? 'same' : 'other'),
  },
};
const LINKED: PushPlugin = {
  ...TELEX,
  title: 'Telex',
  linking: { argument: 'ID', idsOf: (given) => [given] },
};
/** A channel that knows nobody, so that nothing can be connected there. */
const UNLINKED: PushPlugin = { ...TELEX, name: 'pager' };
const CHANNEL: PushChannel = {
  routes: [],
  send: async () => {},
  codeUrl: (code) => `https://telex.example/?text=${code}`,
  privateChat: (user_id) => ({ to: user_id }),
};
const SENDER = { platform: 'telex', user_id: 'u0123', alias_id: null, name: 'Ada L.', locale: null };

let services: Services;
let worker: InboxWorker;
let lines: LogLine[];
let url: string;
let close: () => Promise<void>;
let chatUrl: string | null;

beforeEach(async () => {
  chatUrl = null;
  const sealKey = Buffer.alloc(32, 1).toString('base64');
  const store = openAt(join(stateDirectory(), 'agentd.db'));
  ({ services, lines } = await testServices({ store, sealKey, env: { WEBCHAT_ALLOWED_ORIGINS: ORIGIN } }));
  // The worker is not started, so that notices stay in the inbox for the test.
  worker = new InboxWorker(services);
  const channels = [LINKED, UNLINKED, PHONE].map((plugin) => ({
    plugin,
    channel: plugin === PHONE ? { ...CHANNEL, codeUrl: () => null, chatUrl: () => chatUrl } : CHANNEL,
  }));
  for (const { plugin, channel } of channels) worker.add(plugin, channel);
  const ownRoutes = linkRoutes({ services, worker, channels });
  const server = createServer({ services, channels: [], ownRoutes });
  ({ url } = await server.listen({ host: '127.0.0.1', port: 0 }));
  close = () => server.close();
});

afterEach(() => close());

interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many routes
  body: any;
}

async function ask(method: string, path: string, bearer?: string, body?: object | string): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text && JSON.parse(text) };
}

async function claimed(bearer: string, sender = SENDER): Promise<string> {
  const { body } = await ask('POST', '/link/codes', bearer);
  const [hash] = codeHashes(services.seal, body.code);
  await services.store.linkCodes.claim(hash, {
    ...sender,
    reply_to: { to: sender.user_id },
    message_id: 'm1',
  });
  return body.id;
}

async function notices(): Promise<[to: unknown, text: string | null][]> {
  const found = await services.store.inbox.list({ states: ['replied'], limit: 10 });
  return found.map(({ reply_to, reply }) => [reply_to.to, reply]);
}

const tokenIn = async (user_id: string, plugin = LINKED) =>
  (await findLink(services, plugin, user_id))?.token;

describe('POST /link/codes', () => {
  it('makes a code for the person of the token, with the addresses that send it', async () => {
    const ada = await token();
    const { status, body } = await ask('POST', '/link/codes', ada);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[\w-]{22}$/),
      code: expect.stringMatching(/^(?=.*\d)[2-9A-HJ-NP-Z]{10}$/),
      expires_at: expect.stringMatching(/^\d{4}-.*Z$/),
      channels: { telex: { url: `https://telex.example/?text=${body.code}` }, phone: {} },
    });
    // Without an address for the code, one that opens a chat with the bot.
    chatUrl = 'https://phone.example/bot';
    const { channels } = (await ask('POST', '/link/codes', await token({ sub: 'bob' }))).body;
    expect(channels.phone).toEqual({ url: chatUrl });
    const stored = await services.store.linkCodes.find(body.id);
    expect(stored?.token).toMatch(/^sealed\.v1\./);
    expect((stored?.expires_at ?? 0) - (stored?.created_at ?? 0)).toBe(600_000);
    expect(JSON.stringify([stored, lines])).not.toContain(body.code);
    expect((await ask('POST', '/link/codes', undefined, { jwt_token: ada })).status).toBe(201);
  });

  it('refuses a body that is not JSON, also if the token is in the header', async () => {
    const ada = await token();
    for (const body of ['{', '[]', 'null']) {
      const refused = await ask('POST', '/link/codes', ada, body);
      expect([refused.status, refused.body.code]).toEqual([400, 'malformed_json']);
    }
    expect((await ask('POST', '/link/codes', ada, { jwt_token: 5 })).body.errors).toEqual([
      { field: 'jwt_token', message: 'must be a string or null' },
    ]);
    const plain = await fetch(`${url}/link/codes`, {
      ...{ method: 'POST', headers: { Authorization: `Bearer ${ada}`, 'Content-Type': 'text/plain' } },
      body: '{}',
    });
    expect(plain.status).toBe(415);
    expect((await ask('POST', '/link/codes', ada, {})).status).toBe(201);
  });

  it('takes a token from nowhere but the header and the body, and only a valid one', async () => {
    const ada = await token();
    for (const body of [undefined, '{}', JSON.stringify({ metadata: { jwt_token: ada } })]) {
      const elsewhere = await fetch(`${url}/link/codes?token=${ada}&jwt_token=${ada}`, {
        method: 'POST',
        headers: { Cookie: `jwt_token=${ada}`, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body }),
      });
      expect(elsewhere.status).toBe(401);
      expect(await elsewhere.json()).toMatchObject({ code: 'token_missing' });
    }
    const expired = await ask('POST', '/link/codes', await token({ ttl: -10 }));
    expect(expired).toMatchObject({ status: 401, body: { code: 'token_invalid' } });
    expect(expired.body.detail).toContain('Token Expired');
    expect(expired.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('refuses the sixth code of a person within ten minutes', async () => {
    const ada = await token();
    for (let n = 0; n < CODES_MAX; n++) expect((await ask('POST', '/link/codes', ada)).status).toBe(201);
    const refused = await ask('POST', '/link/codes', ada);
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    const wait = refused.headers.get('retry-after');
    expect(Number(wait)).toBeGreaterThan(500);
    expect(refused.headers.get('ratelimit-policy')).toBe('"link-codes";q=5;w=600');
    expect(refused.headers.get('ratelimit')).toBe(`"link-codes";r=0;t=${wait}`);
    expect((await ask('POST', '/link/codes', await token({ sub: 'bob' }))).status).toBe(201);
  });

  it('makes no code while the store is almost full', async () => {
    vi.spyOn(services.store, 'expectRoom').mockImplementation(() => {
      throw new StoreFull();
    });
    const refused = await ask('POST', '/link/codes', await token());
    expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  });

  it('may be called by the pages that may use the other routes', async () => {
    const asked = await fetch(`${url}/link/codes`, {
      method: 'OPTIONS',
      headers: { Origin: ORIGIN, 'Access-Control-Request-Method': 'POST' },
    });
    expect(asked.headers.get('access-control-allow-origin')).toBe(ORIGIN);
  });
});

describe('/link/codes/{id}', () => {
  it('shows the state of a code to its person only, with who has claimed it', async () => {
    const ada = await token();
    const made = await ask('POST', '/link/codes', ada);
    const { id, expires_at } = made.body;
    expect(await ask('GET', `/link/codes/${id}`, ada)).toMatchObject({
      status: 200,
      body: { id, state: 'waiting', expires_at },
    });
    const path = `/link/codes/${await claimed(ada)}`;
    expect((await ask('GET', path, ada)).body).toMatchObject({
      ...{ state: 'claimed', channel: 'telex', masked_id: '…23', name: 'Ada L.' },
    });
    expect((await ask('GET', `/link/codes/${id}`, ada)).body.state).toBe('expired');
    const bob = await token({ sub: 'bob' });
    for (const method of ['GET', 'DELETE'])
      expect(await ask(method, path, bob)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect((await ask('GET', path)).status).toBe(401);
    expect((await ask('DELETE', path, ada)).status).toBe(204);
    expect((await ask('GET', path, ada)).body.state).toBe('expired');
    expect((await ask('POST', `${path}/confirm`, ada)).body.code).toBe('code_gone');
  });

  it('binds after both ends have agreed, with the newer token, and tells the chat', async () => {
    const ada = await token();
    // It was issued later, but expires earlier.
    const newer = await token({ ttl: 1800, claims: { iat: Math.floor(Date.now() / 1000) } });
    const made = (await ask('POST', '/link/codes', ada)).body;
    expect(await ask('POST', `/link/codes/${made.id}/confirm`, ada)).toMatchObject({
      status: 409,
      body: { code: 'code_not_claimed' },
    });
    for (const order of ['site first', 'chat first']) {
      const id = await claimed(ada);
      const confirm = (bearer = newer) => ask('POST', `/link/codes/${id}/confirm`, bearer);
      const yes = () => services.store.linkCodes.answer(id, SENDER, true);
      expect((await confirm(await token({ sub: 'bob' }))).status).toBe(404);
      if (order === 'site first') {
        expect((await confirm()).body.state).toBe('claimed');
        expect((await services.store.linkCodes.find(id))?.confirmed_token).toMatch(/^sealed\.v1\./);
      }
      await yes();
      expect(await tokenIn('u0123')).toBe(undefined);
      expect((await confirm()).body).toMatchObject({ state: 'used', name: 'Ada L.' });
      expect(await tokenIn('u0123')).toBe(newer);
      expect((await confirm()).body.state).toBe('used');
      expect((await services.store.links.get('telex:jwt:u0123'))?.how).toBe('code');
      expect(await notices()).toEqual([
        ['u0123', expect.stringContaining('connected with "ada@example.com"')],
      ]);
      for (const { id: notice } of await services.store.inbox.list({ states: ['replied'], limit: 9 }))
        await services.store.inbox.discard(notice);
      await dropLink(services.store.links, 'telex:jwt:u0123');
    }
  });

  it('binds nothing if a token is no longer valid, or belongs to another number or person', async () => {
    const late = await token({ ttl: 1800 });
    const id = await claimed(late);
    await services.store.linkCodes.answer(id, SENDER, true);
    const validate = services.tokens.validate.bind(services.tokens);
    vi.spyOn(services.tokens, 'validate').mockImplementation(async (given, request_id) =>
      given === late ? { valid: false, reason: 'Token Expired' } : validate(given, request_id),
    );
    expect((await ask('POST', `/link/codes/${id}/confirm`, await token())).body.code).toBe('code_gone');
    expect(await tokenIn('u0123')).toBe(undefined);

    const sender = { ...SENDER, platform: 'phone', user_id: '+15550123' };
    const agree = async (bearer: string, confirming = bearer) => {
      const code_id = await claimed(bearer, sender);
      await services.store.linkCodes.answer(code_id, sender, true);
      return ask('POST', `/link/codes/${code_id}/confirm`, confirming);
    };
    const refusal = { status: 403, body: { code: 'forbidden' } };
    const other = await token({ sub: 'eve', claims: { phone: '+15550999' } });
    for (const [one, two] of [
      [other, other],
      [other, await token({ sub: 'eve', ttl: 7200 })],
      [await token({ sub: 'eve', ttl: 7200 }), other],
    ] as const)
      expect(await agree(one, two)).toMatchObject(refusal);
    await link(services, PHONE, '+15550123', await token({ sub: 'bob' }));
    expect(await agree(await token())).toMatchObject(refusal);
    expect(await tokenIn('+15550123', PHONE)).not.toBe(undefined);
    const named = await token({ claims: { phone: '+15550123' } });
    expect(await agree(named)).toMatchObject({ status: 200, body: { state: 'used' } });
    expect(await tokenIn('+15550123', PHONE)).toBe(named);
  });
});

describe('/links', () => {
  it('shows a person their own links, and ends them, which the chat is told', async () => {
    const [ada, bob] = [await token(), await token({ sub: 'bob' })];
    await link(services, LINKED, 'u0123', ada);
    await link(services, LINKED, 'u0456', bob);
    await link(services, PHONE, '+4915123450123', await token({ sub: 'eve' }));
    const ofEve = await ask('GET', '/links', await token({ sub: 'eve' }));
    expect(ofEve.body.links).toMatchObject([{ channel: 'phone', masked_id: '…0123' }]);
    const { body } = await ask('GET', '/links', ada);
    expect(body).toEqual({
      links: [
        {
          ...{ id: expect.stringMatching(/^[\w-]{22}$/), channel: 'telex', masked_id: '…23', name: null },
          ...{ since: expect.stringMatching(/Z$/), until: expect.stringMatching(/Z$/) },
        },
      ],
      channels: ['telex', 'phone'],
      // A link to a bundled channel that is not active has its title, too.
      titles: { ...CHANNEL_TITLES, telex: 'Telex', pager: 'pager', phone: 'phone' },
    });
    const path = `/links/${body.links[0].id}`;
    expect((await ask('DELETE', path, bob)).status).toBe(404);
    expect((await ask('DELETE', path, ada)).status).toBe(204);
    expect((await ask('DELETE', path, ada)).status).toBe(404);
    expect((await ask('GET', '/links', ada)).body).toMatchObject({ links: [] });
    expect(await tokenIn('u0456')).toBe(bob);
    // Another program can write a token into Redis, so the record of the person may be outdated.
    await services.store.links.put({
      key: 'telex:jwt:u0789',
      token: bob,
      person: personKey({ sub: 'ada' }),
      ttl_ms: 60_000,
    });
    expect((await ask('GET', '/links', ada)).body).toMatchObject({ links: [] });
    expect(await notices()).toEqual([
      ['u0123', expect.stringMatching(/^This chat is no longer connected with your account: [^@]*$/)],
    ]);
  });

  it('withdraws the actions that wait in a chat whose link it ends', async () => {
    const ada = await token();
    await link(services, LINKED, 'u0123', ada);
    const { links } = (await ask('GET', '/links', ada)).body;
    const session = aSession(services.clock.now(), { platform: 'telex', user_id: 'u0123' });
    await saveSession(services.store, session);
    const action = aPendingAction(session, { person: personKey({ sub: 'ada' }) });
    const pending = { trace: aTrace(session), pending: [action] };
    await commitUnderClaim(services.store, session.session_id, pending);
    expect((await ask('DELETE', `/links/${links[0].id}`, ada)).status).toBe(204);
    expect((await services.store.actions.find(action.action_id))?.state).toBe('withdrawn');
  });

  it('has the id of its request in each log line, as the other routes have', async () => {
    const ada = await token();
    const id = await claimed(ada);
    await services.store.linkCodes.answer(id, SENDER, true, 'm2');
    await ask('POST', `/link/codes/${id}/confirm`, ada);
    const { links } = (await ask('GET', '/links', ada)).body;
    await ask('DELETE', `/links/${links[0].id}`, ada);
    const logged = lines.filter(({ msg }) => msg.includes('link'));
    expect(logged.map(({ msg }) => msg)).toEqual(['link code made', 'linked with a code', 'unlinked']);
    expect(logged.every(({ request_id }) => typeof request_id === 'string')).toBe(true);
  });

  it('does not tell the chat of a link that ended at that moment', async () => {
    const ada = await token();
    await link(services, LINKED, 'u0123', ada);
    const { links } = (await ask('GET', '/links', ada)).body;
    const remove = services.store.links.remove.bind(services.store.links);
    vi.spyOn(services.store.links, 'remove').mockImplementationOnce(async (...args) => {
      await remove(...args);
      return false;
    });
    expect((await ask('DELETE', `/links/${links[0].id}`, ada)).status).toBe(204);
    expect(await notices()).toEqual([]);
  });

  it('ends a link whose token is renewed at that moment', async () => {
    const ada = await token();
    await link(services, LINKED, 'u0123', ada);
    const { links } = (await ask('GET', '/links', ada)).body;
    const renewed = await token({ ttl: 7200 });
    vi.spyOn(services.store.links, 'remove').mockImplementationOnce(async (standing) => {
      const [key = ''] = standing.keys();
      await services.store.links.put(
        { key, token: services.seal.close(renewed, key), person: personKey({ sub: 'ada' }), ttl_ms: 60_000 },
        standing,
      );
      return false;
    });
    expect((await ask('DELETE', `/links/${links[0].id}`, ada)).status).toBe(204);
    expect(await tokenIn('u0123')).toBeUndefined();
    expect(await notices()).toHaveLength(1);
  });
});
