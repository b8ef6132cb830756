import { beforeAll, beforeEach, expect, it } from 'vitest';
import teamchat from '../../plugins/teamchat/index.ts';
import type { SimulatedEvent, SimulatedRequest } from '../../src/channel/index.ts';
import { FakePlatform } from '../support/fake-platform.ts';
import { ADA, GRACE, type Shop, startShop } from '../support/shop.ts';
import { CHANNEL } from '../support/teamchat.ts';
import { lapsed, token } from '../support/tokens.ts';

// Tests agentd-service(7), "POST /webhook/teamchat/commands", and agentd-identity(7), "Persons" and "Links", in a shop.
// The API of the shop knows Ada and Grace.

const WHO = 'Who am I?';

let platform: FakePlatform;
let shop: Shop;
beforeAll(async () => {
  platform = await FakePlatform.start(teamchat);
  shop = await startShop({ env: { ...platform.env, SIGN_IN_WAIT_SECONDS: '0' } });
});
beforeEach(() => {
  shop.api.requests.length = 0;
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
  expect(said).toMatch(
    /^✅ You are signed in as ada@example\.com until <!date\^\d+\^\{date_short_pretty\} at \{time\}\|\d{4}-\d\d-\d\d \d\d:\d\d UTC>/,
  );
  expect(said).toContain(until.slice(0, 8));
  expect(await ask({ user })).toContain('A-1001');
  expect(shop.api.seen('/users').map(({ bearer }) => bearer)).toEqual([ada]);

  expect(await serviceAuth(user, 'off')).toBe('✅ You are signed out.');
  expect(await ask({ user })).toContain('not signed in');
  expect(shop.api.seen('/users')).toHaveLength(1);
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
