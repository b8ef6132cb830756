import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import teamchat from '../../plugins/teamchat/index.ts';
import type { SimulatedEvent, SimulatedRequest } from '../../src/channel/index.ts';
import { LINK } from '../../src/daemon/store/logic/links.ts';
import { FakePlatform } from '../support/fake-platform.ts';
import { ADA, GRACE, type Shop, startShop } from '../support/shop.ts';
import { storedDocuments } from '../support/stored-documents.ts';
import { CHANNEL } from '../support/teamchat.ts';
import { lapsed, token } from '../support/tokens.ts';

// Tests agentd-service(7), "POST /webhook/teamchat/commands", and agentd-identity(7), "Persons" and "Links", in a shop.
// The API of the shop knows Ada and Grace.

const WHO = 'Who am I?';

let platform: FakePlatform;
let shop: Shop;
beforeAll(async () => {
  platform = await FakePlatform.start(teamchat);
  shop = await startShop({ env: platform.env });
});
beforeEach(() => {
  shop.api.requests.length = 0;
});
afterAll(async () => {
  await shop.stop();
  await platform.close();
});

const tokenOf = ({ id, email, name }: typeof ADA, ttl?: number) =>
  token({ sub: id, email, claims: { name }, ...(ttl === undefined ? {} : { ttl }) });

const commanded = (event: Partial<SimulatedEvent>) =>
  platform.simulator.delivery(
    platform.event({ kind: 'command', place: 'group', ...event }),
    platform.settings,
  );

/** Types the command, and returns what its sender sees. */
const serviceAuth = (user: string, text: string, event: Partial<SimulatedEvent> = {}) =>
  answerTo(commanded({ user, text: `/service-auth ${text}`, ...event }));

async function answerTo(request: SimulatedRequest): Promise<string> {
  const before = platform.calls.length;
  const answer = await platform.post(shop.daemon, request);
  expect(answer.status).toBe(200);
  const body = JSON.parse(answer.text) as { response_type: string; text: string };
  expect(body.response_type).toBe('ephemeral');
  // Nothing about the command is posted where others could read it.
  expect(platform.calls).toHaveLength(before);
  return body.text;
}

/** Sends a message, and returns the answer. */
async function ask(event: Partial<SimulatedEvent>): Promise<string> {
  const to = event.place === 'group' ? CHANNEL : `D${event.user?.slice(1)}`;
  const before = platform.textsTo(to).length;
  expect((await platform.deliver(shop.daemon, { text: WHO, ...event })).status).toBe(200);
  await platform.until(() => platform.textsTo(to).length > before);
  return platform.textsTo(to)[before] ?? '';
}

it('a user signs in, gets their own data with their own token, and signs out again', async () => {
  const user = 'U0CYCLE';
  expect(await ask({ user })).toContain('not signed in');
  expect(shop.lookedUpAs()).toEqual([]);

  const ada = await tokenOf(ADA);
  const until = new Date(Date.now() + 3600_000).toISOString().slice(0, 10);
  const said = await serviceAuth(user, ada);
  expect(said).toMatch(/^✅ You are signed in as ada@example\.com until \d{4}-\d\d-\d\d \d\d:\d\d \(UTC\)/);
  expect(said).toContain(until.slice(0, 8));
  expect(await ask({ user })).toContain('A-1001');
  expect(shop.api.seen('/users').map(({ bearer }) => bearer)).toEqual([ada]);

  expect(await serviceAuth(user, 'off')).toBe('✅ You are signed out.');
  expect(await ask({ user })).toContain('not signed in');
  expect(shop.api.seen('/users')).toHaveLength(1);
});

it('a repeated delivery of a command does nothing, and gets the same answer as the first delivery', async () => {
  const user = 'U0AGAIN';
  const request = (text: string) => commanded({ user, text: `/service-auth ${text}` });
  const signIn = request(await tokenOf(ADA));
  const signOut = request('off');
  const confirmed = await answerTo(signIn);
  expect(await answerTo(signOut)).toBe('✅ You are signed out.');
  expect(await answerTo(signIn)).toBe(confirmed);
  expect(await ask({ user })).toContain('not signed in');
});

it('a command that is typed again is carried out again, even if the platform gives it the same id', async () => {
  const user = 'U0ANEW';
  const ada = await tokenOf(ADA);
  const sameId = { number: 900_001 };
  expect(await serviceAuth(user, 'nothing', sameId)).toContain('JWT Malformed');
  expect(await serviceAuth(user, ada, sameId)).toMatch(/^✅ You are signed in as ada@/);
  expect(await serviceAuth(user, 'off', sameId)).toBe('✅ You are signed out.');
  expect(await serviceAuth(user, await tokenOf(GRACE), sameId)).toMatch(/^✅ You are signed in as grace@/);
});

it('the link is stored under the documented key, for 30 days', async () => {
  await serviceAuth('U0KEY', await tokenOf(ADA, 90 * 86_400));
  const links = await storedDocuments(join(shop.daemon.directory, 'state/agentd.db'), LINK);
  const link = links.find(({ key }) => key === 'teamchat:jwt:U0KEY')?.doc;
  if (link === undefined) throw new Error('there is no link');
  expect(Math.abs(link.expires_at - Date.now() - 2_592_000_000)).toBeLessThan(60_000);
  // If the token is valid for longer than the link, the expiry of the link is shown.
  const day = new Date(link.expires_at).toISOString().slice(0, 10);
  expect(await serviceAuth('U0KEY', await tokenOf(ADA, 90 * 86_400))).toContain(day);
});

it('an invalid token is refused with the reason, and does not change the link', async () => {
  const user = 'U0REASON';
  await serviceAuth(user, await tokenOf(ADA));
  expect(await serviceAuth(user, await tokenOf(GRACE, -10))).toBe(
    '❌ You could not be signed in: Token Expired.',
  );
  expect(await serviceAuth(user, await token({ secret: 'another secret of at least 256 bits, yes' }))).toBe(
    '❌ You could not be signed in: Invalid Signature.',
  );
  expect(await serviceAuth(user, await token({ claims: { email: undefined } }))).toBe(
    '❌ You could not be signed in: Missing Required Claims.',
  );
  expect(await serviceAuth(user, 'x')).toBe('❌ You could not be signed in: JWT Malformed.');
  expect(await ask({ user })).toContain('A-1001');
});

it('in a thread with several people, everybody gets their own data, or none', async () => {
  await serviceAuth('U0ADA', await tokenOf(ADA));
  await serviceAuth('U0GRACE', await tokenOf(GRACE));
  const where = { place: 'group', thread: 'many' } as const;
  expect(await ask({ ...where, user: 'U0ADA' })).toContain('A-1001');
  expect(await ask({ ...where, user: 'U0LINUS' })).not.toMatch(/A-1001|G-2002|ada@|grace@/);
  expect(await ask({ ...where, user: 'U0GRACE' })).toContain('G-2002');
  expect(await ask({ ...where, user: 'U0ADA' })).toContain('A-1001');
  expect(shop.lookedUpAs()).toEqual([ADA.id, GRACE.id, ADA.id]);
});

it('a user of another workspace is not mistaken for our user with the same id', async () => {
  await serviceAuth('U0TWIN', await tokenOf(ADA));
  const event = platform.event({ user: 'U0TWIN', text: WHO });
  const { body } = platform.simulator.delivery(event, platform.settings);
  const delivery = JSON.parse(body) as { event: object };
  const theirs = { ...delivery, is_ext_shared_channel: true, event: { ...delivery.event, team: 'T0THEIRS' } };
  const { signatureOf } = await import('../../plugins/teamchat/verify.ts');
  const timestamp = String(Math.floor(Date.now() / 1000));
  const text = JSON.stringify(theirs);
  const headers = {
    'Content-Type': 'application/json',
    'X-Slack-Request-Timestamp': timestamp,
    'X-Slack-Signature': signatureOf(String(platform.env.TEAMCHAT_SIGNING_SECRET), timestamp, text),
  };
  const before = platform.textsTo('D0TWIN').length;
  await platform.post(shop.daemon, { method: 'POST', path: '/webhook/teamchat/events', headers, body: text });
  await platform.until(() => platform.textsTo('D0TWIN').length > before);
  expect(platform.textsTo('D0TWIN').at(-1)).toContain('not signed in');
  expect(shop.lookedUpAs()).toEqual([]);
});

it('a direct message starts a new session if another person has signed in', async () => {
  const user = 'U0HANDS';
  await serviceAuth(user, await tokenOf(ADA));
  await ask({ user });
  await ask({ user });
  await serviceAuth(user, await tokenOf(GRACE));
  expect(await ask({ user })).toContain('G-2002');
  const { turns } = await shop.session('teamchat:T0SIMULATE:D0HANDS');
  expect(turns).toHaveLength(1);
});

it('a link with an expired token has no effect: default credentials are used, a warning is logged, and the person is told once', async () => {
  const user = 'U0LAPSE';
  const short = await tokenOf(ADA, 3);
  expect(await serviceAuth(user, short)).toMatch(/^✅/);
  await lapsed(short);
  const [first, second] = [await ask({ user }), await ask({ user })];
  expect(first).toMatch(/expired/i);
  expect(second).not.toMatch(/expired/i);
  expect(shop.lookedUpAs()).not.toContain(ADA.id);
  await shop.daemon.logged(
    ({ level, msg, reason }) =>
      level === 'warn' && /Token Expired/.test(String(msg)) && reason === 'stored_token_expired',
  );
  await shop.daemon.logged(
    ({ level, msg }) => level === 'warn' && msg === 'tool uses default credentials: stored_token_expired',
  );
  const told = await shop.run('explain', '--user', user, '--json');
  const [trace] = JSON.parse(told.stdout).traces;
  expect(trace.lines).toContainEqual(
    expect.objectContaining({
      step: 'resolve-principal',
      verdict: 'fallback',
      reason: 'stored_token_expired',
      detail: expect.objectContaining({
        states: 'NoSession > SessionCreated > JWTReceived > InvalidJWT > NoJWT',
      }),
    }),
  );
  await serviceAuth(user, await tokenOf(ADA));
  expect(await ask({ user })).toContain('A-1001');
});

it('no linked token is in the log', async () => {
  const secret = await tokenOf(ADA);
  await serviceAuth('U0SECRET', secret);
  await serviceAuth('U0SECRET', `${secret}x`);
  await ask({ user: 'U0SECRET' });
  expect(shop.daemon.stderr() + shop.daemon.stdout()).not.toContain(secret.split('.')[1]);
});
