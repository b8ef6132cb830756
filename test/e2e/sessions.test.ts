import { statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { gate, type Shop, startShop } from '../support/shop.ts';
import { token } from '../support/tokens.ts';

// Tests agentd-identity(7), "States of a session", and agentd-message(7), "Sessions", as webchat users and an operator
// see them.

const WHO = 'Who am I?';

let shop: Shop;
beforeAll(async () => {
  shop = await startShop();
});

/** Starts a session with a generated id, signed in as Ada. @returns the id */
async function signedIn(user_id = 'visitor'): Promise<string> {
  const { body } = await shop.say({ user_id, message: WHO }, { bearer: await token() });
  expect(body.response).toContain('Ada Lovelace');
  return body.session_id;
}

/** Sends a message that causes a lookup. @returns the `sub` of the token in the lookup */
async function actsAs(body: Record<string, unknown>, bearer?: string): Promise<string | null | undefined> {
  const before = shop.lookedUpAs().length;
  const answer = await shop.say(
    { message: 'Who is ada@example.com?', ...body },
    bearer === undefined ? {} : { bearer },
  );
  expect(answer.status).toBe(200);
  const since = shop.lookedUpAs().slice(before);
  expect(since).toHaveLength(1);
  return since[0];
}

describe('The token context of a session', () => {
  test('a first message without a token creates a session in the state NoJWT, which is stored together with the turn', async () => {
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
    expect(shop.lookedUpAs().at(-1)).toBe('service');
  });
});

describe('In a session with a generated id', () => {
  test('a message without a token uses the stored context', async () => {
    const session_id = await signedIn();
    expect(await actsAs({ user_id: 'visitor', session_id })).toBe('ada');
    expect(await actsAs({ user_id: 'visitor', session_id, jwt_token: '' })).toBe('ada');
    expect(await shop.session(session_id)).toMatchObject({ state: 'ValidJWT' });
  });
});

describe('messages of one session', () => {
  test('start a new session after `sessions end` while the daemon runs', async () => {
    const session_id = await signedIn();
    expect(await shop.run('sessions', 'end', session_id)).toMatchObject({
      code: 0,
      stdout: `ended ${session_id}\n`,
    });
    expect(await shop.session(session_id)).toBeNull();
    expect((await shop.run('sessions', 'end', session_id)).code).toBe(1);
    expect(await actsAs({ user_id: 'visitor', session_id })).toBe('service');
    const anew = await shop.session(session_id);
    // The id does not prove who sends a message, because others may know it.
    expect(anew).toMatchObject({ state: 'NoJWT', owner: null, generated: false });
    expect(anew.turns).toHaveLength(1);
  });
});

describe('Stored tokens', () => {
  const files = (directory: string) =>
    ['agentd.db', 'agentd.db-wal'].map((name) => join(directory, 'state', name));

  test('are in a file that only its owner may read', async () => {
    await signedIn();
    expect(statSync(files(shop.daemon.directory)[0] ?? '').mode & 0o777).toBe(0o600);
  });
});
