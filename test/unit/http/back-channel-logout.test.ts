import { expect, it } from 'vitest';
import { backChannelLogout } from '../../../src/daemon/http/back-channel-logout.ts';
import type { LogoutClaims, LogoutVerdict } from '../../../src/daemon/identity/logout-token.ts';
import { MemoryState } from '../../../src/daemon/store/kernels/memory/kernel.ts';
import { openMemoryStore } from '../../../src/daemon/store/kernels/memory/store.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { collectLog } from '../../support/log-lines.ts';
import { serve } from './serve.ts';

const VALID = { iss: 'i', iat: 1, sub: 'ada', tenant_id: null, sid: null, expires_at: 1 };

/** A daemon for which a token is valid if it begins with `good`; its text is its `jti`. */
async function logout() {
  const store = openMemoryStore(new MemoryState(), { clock: systemClock });
  const marked: LogoutClaims[] = [];
  const { log, text } = collectLog();
  const services = {
    settings: { RATE_LIMIT_ANONYMOUS_MAX: 3, RATE_LIMIT_WINDOW_SECONDS: 60 },
    store,
    log,
    logoutTokens: {
      async validate(token: string): Promise<LogoutVerdict> {
        if (token === 'unreachable') return { valid: 'unknown', cause: new Error('no keys') };
        if (!token.startsWith('good')) return { valid: false, reason: 'Invalid Signature' };
        return { valid: true, claims: { ...VALID, jti: token } };
      },
    },
  };
  const route = backChannelLogout(services, async (signOut) => {
    marked.push(signOut);
    const outcome = await store.signOutMarks.add(signOut);
    await store.signOutMarks.finish(signOut);
    return outcome;
  });
  const { url } = await serve({ routes: [route] });
  const post = (body: string, type = 'application/x-www-form-urlencoded') =>
    fetch(`${url}/backchannel-logout`, { method: 'POST', body, headers: { 'content-type': type } });
  return { post, marked, text, store, services };
}

it('stores the mark, and answers alike whether or not it was stored before', async () => {
  const { post, marked, text } = await logout();
  for (const answer of [await post('logout_token=good1&other=x'), await post('logout_token=good1')]) {
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await answer.text()).toBe('');
  }
  expect(marked).toEqual([1, 2].map(() => ({ ...VALID, jti: 'good1' })));
  expect(text().match(/signed out at the site/g)).toHaveLength(1);
});

it('refuses everything else with the reason, and is never cached', async () => {
  const { post, marked } = await logout();
  const answer = await post('logout_token=bad');
  expect(answer.status).toBe(400);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(await answer.json()).toMatchObject({
    code: 'invalid_request',
    detail: 'The logout token is not valid: Invalid Signature.',
    errors: [{ field: 'logout_token', message: 'Invalid Signature' }],
  });
  expect((await post('token=good')).status).toBe(400);
  expect((await post('logout_token=good1&logout_token=good2')).status).toBe(400);
  expect((await post('{"logout_token":"good"}', 'application/json')).status).toBe(415);
  expect(marked).toEqual([]);
});

it('refuses every token once a reload has removed the issuer or the audience', async () => {
  const { post, marked, services } = await logout();
  Object.assign(services, { logoutTokens: null });
  expect((await post('logout_token=good1')).status).toBe(400);
  expect(marked).toEqual([]);
});

it('asks the site to try again if the token cannot be checked', async () => {
  const { post } = await logout();
  const answer = await post('logout_token=unreachable');
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toBe('60');
});

it('limits what an address sends, but never refuses a new valid token', async () => {
  const { post, store } = await logout();
  const of = async (token: string) => (await post(`logout_token=${token}`)).status;
  expect([await of('bad'), await of('unreachable'), await of('bad'), await of('bad')]).toEqual([
    400, 503, 400, 429,
  ]);
  const refused = await post('logout_token=bad');
  expect(refused.headers.get('retry-after')).not.toBeNull();
  expect(refused.headers.get('ratelimit-policy')).toBe('"address";q=3;w=60');
  expect([await of('good1'), await of('good2'), await of('good2')]).toEqual([200, 200, 429]);
  // Messages from that address are counted apart.
  const window = { max: 1, window_ms: 60_000 };
  expect(await store.limits.hit('http:address:127.0.0.1', window)).toMatchObject({ allowed: true });
});
