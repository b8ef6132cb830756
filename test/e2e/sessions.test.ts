import { beforeAll, expect, it } from 'vitest';
import { gate, type Shop, startShop } from '../support/shop.ts';
import { token } from '../support/tokens.ts';

// Tests agentd-identity(7), "States of a session", and agentd-message(7), "Sessions", as webchat users and an operator
// see them.

let shop: Shop;
beforeAll(async () => {
  shop = await startShop();
});

it('a first message without a token creates a session in the state NoJWT, which is stored together with the turn', async () => {
  const slow = gate();
  shop.api.misbehave('/users', { wait: slow.opened }, 1);
  const asked = shop.api.next('/users');
  const answered = shop.say({ user_id: 'visitor', session_id: 'first', message: 'ada@example.com' });
  await asked;
  expect(await shop.session('first')).toBeNull();
  slow.open();
  expect((await answered).status).toBe(200);
  expect(await shop.session('first')).toMatchObject({
    state: 'NoJWT',
    metadata: { jwt_context: null },
    turns: [{ credentials: 'default', credentials_reason: 'no_token', outcome: 'answered' }],
  });
  expect(shop.lookedUpAs()).toEqual(['service']);
});

it('the messages of one session start a new session after `sessions end` while the daemon runs', async () => {
  const who = { user_id: 'visitor', message: 'Who am I?' };
  const { body } = await shop.say(who, { bearer: await token() });
  expect(body.response).toContain('Ada Lovelace');
  const { session_id } = body;
  expect(await shop.run('sessions', 'end', session_id)).toMatchObject({
    code: 0,
    stdout: `ended ${session_id}\n`,
  });
  expect(await shop.session(session_id)).toBeNull();
  expect((await shop.run('sessions', 'end', session_id)).code).toBe(1);
  await shop.say({ user_id: 'visitor', session_id, message: 'Who is ada@example.com?' });
  expect(shop.lookedUpAs().at(-1)).toBe('service');
  const anew = await shop.session(session_id);
  // The id does not prove who sends a message, because others may know it.
  expect(anew).toMatchObject({ state: 'NoJWT', owner: null, generated: false });
  expect(anew.turns).toHaveLength(1);
});
