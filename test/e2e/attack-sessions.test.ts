import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gate, type Shop, startShop } from '../support/shop.ts';
import { token } from '../support/tokens.ts';

// As agentd-message(7), "Lifetime", says, a session ends SESSION_TTL_SECONDS after its last message that was not
// blocked.

let brief: Shop;
beforeAll(async () => {
  brief = await startShop({ env: { SESSION_TTL_SECONDS: '1' } });
});
afterAll(() => brief.stop());

describe('a message with an idempotency key that is already in use', () => {
  test.each([409, 422])('is not in the traces of the session that it names (%i)', async (status) => {
    const session_id = `mine-${status}`;
    await brief.say({ user_id: 'ada', message: 'Hello', session_id });
    const headers = { 'Idempotency-Key': `key-${status}` };
    const slow = gate();
    brief.api.misbehave('/users', { wait: slow.opened }, 1);
    const asked = brief.api.next('/users');
    const own = { user_id: 'eve', message: 'Who am I?', session_id: `eve-${status}` };
    const first = brief.say(own, { headers, bearer: await token({ sub: 'eve' }) });
    await asked;
    // The same key again: with a different body that names somebody else's session (422), or while the first request
    // is still running (409).
    const body = status === 422 ? { ...own, session_id } : own;
    const refused = await brief.say(body, { headers, bearer: await token({ sub: 'eve' }) });
    slow.open();
    await first;
    expect(refused.status).toBe(status);
    const { stdout } = await brief.run('explain', body.session_id, '--json');
    const traces: { outcome: string }[] = JSON.parse(stdout).traces;
    expect(traces.map(({ outcome }) => outcome)).toEqual(['answered']);
    const found = await brief.run('explain', refused.headers.get('x-request-id') ?? '', '--json');
    expect(found.code).toBe(0);
  });
});

describe('a session that expires while its message is being answered', () => {
  test('keeps the turn, and then lasts for another SESSION_TTL_SECONDS', async () => {
    const slow = gate();
    brief.api.misbehave('/users', { wait: slow.opened }, 1);
    const asked = brief.api.next('/users');
    const answering = brief.say({ user_id: 'ada', message: 'Who am I?' }, { bearer: await token() });
    await asked;
    await delay(1200);
    slow.open();
    const { status, body } = await answering;
    expect(status).toBe(200);
    const session = await brief.session(body.session_id);
    expect(session.turns).toHaveLength(1);
    expect(Date.parse(session.expires_at) - Date.parse(session.last_active_at)).toBe(1000);
    await delay(1100);
    expect(await brief.session(body.session_id)).toBeNull();
  });
});
