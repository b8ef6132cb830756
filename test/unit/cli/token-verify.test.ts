import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { command } from '../../../src/cli/commands/token-verify.ts';
import { createOutput } from '../../../src/cli/output.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import { CLAIMS, hs256, NOW, NOW_S, SECRET, SETTINGS } from '../identity/make-token.ts';
import { openAt, stateDirectory } from '../store/state-directory.ts';
import { exitCodeOf } from './captured-output.ts';
import { stubSettings } from './stub-settings.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: NOW }));
afterEach(() => vi.useRealTimers());

async function verify(
  token: string,
  { json = false, ...settings }: Partial<Settings> & { json?: boolean } = {},
) {
  stubSettings({ ...SETTINGS, ...settings });
  const [printed, noted]: [string[], string[]] = [[], []];
  const out = createOutput({
    json,
    stdout: { write: (text) => printed.push(text) },
    stderr: { write: (text) => noted.push(text) },
    env: {},
  });
  const code = await exitCodeOf(command, { args: [token], options: { json }, out });
  return { code, text: printed.join(''), noted: noted.join('') };
}

const CHECKS = [
  'format',
  'algorithm',
  'signature',
  'required claims',
  'expiry',
  'not before',
  'issuer',
  'audience',
];

describe('agentd token verify after a sign-out at the site', () => {
  it('says so beside the result, which stays that of the documented checks', async () => {
    const STATE_DIR = stateDirectory();
    const store = openAt(join(STATE_DIR, 'agentd.db'));
    const [signOut, claims] = [
      { iss: 'https://id.example', sub: CLAIMS.sub },
      { ...CLAIMS, iat: NOW_S },
    ];
    const verifyOf = (iat: number) =>
      verify(hs256({ ...claims, iss: signOut.iss, iat }), { STATE_DIR, json: true });
    expect((await verifyOf(NOW_S - 1)).noted).not.toContain('signed out');
    await store.signOutMarks.add({
      ...{ ...signOut, jti: 'j', iat: NOW_S - 1, sid: null, tenant_id: null },
      expires_at: NOW + 1000,
    });
    const [covered, newer] = [await verifyOf(NOW_S - 1), await verifyOf(NOW_S)];
    expect(covered.noted).toMatch(/signed out at the site since this token was issued/);
    expect(newer.noted).not.toContain('signed out');
    expect([covered.code, newer.code]).toEqual([0, 0]);
    expect(Object.keys(JSON.parse(covered.text))).toEqual(Object.keys(JSON.parse(newer.text)));
  });
});

describe('agentd token verify --json', () => {
  it('prints the whole report of a valid token, without the token', async () => {
    const claims = { ...CLAIMS, roles: ['editor'], plan: 'gold' };
    const token = hs256(claims);
    const { code, text } = await verify(token, { json: true });
    expect(code).toBe(0);
    expect(JSON.parse(text)).toEqual({
      valid: true,
      reason: null,
      steps: CHECKS.map((check) => ({ check, ok: true })),
      claims,
      user: { user_id: 'u-1', email: 'alice@example.com', roles: ['editor'] },
      expires_at: '2026-01-15T13:00:00.000Z',
    });
    expect(text).not.toContain(token.slice(0, 12));
  });

  it('prints the reason, the claims and the expiry of an expired token, and exits with 1', async () => {
    const claims = { ...CLAIMS, exp: NOW_S - 60 };
    const { code, text } = await verify(hs256(claims), { json: true });
    expect(code).toBe(1);
    expect(JSON.parse(text)).toEqual({
      valid: false,
      reason: 'Token Expired',
      steps: CHECKS.map((check, index) => ({ check, ok: index < 4 ? true : index === 4 ? false : null })),
      claims,
      user: null,
      expires_at: '2026-01-15T11:59:00.000Z',
    });
  });

  it('prints a report even for a text that is not a token', async () => {
    const { code, text } = await verify('no-token', { json: true });
    expect(code).toBe(1);
    expect(JSON.parse(text)).toEqual({
      valid: false,
      reason: 'JWT Malformed',
      steps: CHECKS.map((check, index) => ({ check, ok: index === 0 ? false : null })),
      claims: null,
      user: null,
      expires_at: null,
    });
  });

  it('reports a disabled check as neither passed nor failed', async () => {
    const { text } = await verify(hs256(CLAIMS, undefined, 'other'), {
      json: true,
      JWT_VERIFY_SIGNATURE: false,
    });
    const report = JSON.parse(text);
    expect(report.valid).toBe(true);
    expect(report.steps[2]).toEqual({ check: 'signature', ok: null });
  });
});

describe('agentd token verify, for people,', () => {
  it('shows the audience that is expected, and does not advise to accept the tokens of other applications', async () => {
    const { code, text } = await verify(hs256({ ...CLAIMS, aud: 'shop' }), { JWT_AUDIENCE: 'api' });
    expect(code).toBe(1);
    expect(text).toMatch(
      /\nThe token is invalid: Invalid Audience\nJWT_AUDIENCE is api\nHave the site send a token for this audience\./,
    );
    expect(text).toContain('must stay invalid');
    expect((await verify(hs256(CLAIMS), { JWT_ISSUER: 'id' })).text).toContain('\nJWT_ISSUER is id\n');
  });

  it('says when each time of the token is', async () => {
    const { text } = await verify(hs256({ ...CLAIMS, iat: NOW_S - 60, nbf: 1e20, auth_time: NOW_S }));
    expect(text).toMatch(/^exp +1768482000 \(2026-01-15T13:00:00\.000Z\)$/m);
    expect(text).toMatch(/^iat +1768478340 \(2026-01-15T11:59:00\.000Z\)$/m);
    expect(text).toMatch(/^nbf +100000000000000000000$/m);
    expect(text).toMatch(/^auth_time +1768478400 \(2026-01-15T12:00:00\.000Z\)$/m);
  });
});

describe('agentd token verify, with several keys,', () => {
  const next = 'the-next-secret-of-at-least-256-bits';
  const both = { JWT_SECRET_KEY: new Secret(`${next}\n${SECRET}`) };

  it('says which key the token is signed with', async () => {
    const { code, text } = await verify(hs256(), both);
    expect(code).toBe(0);
    expect(text).toMatch(/^signature +ok, with key 2 of the configured ones$/m);
    expect(JSON.parse((await verify(hs256(), { ...both, json: true })).text)).toMatchObject({
      valid: true,
      key: 2,
    });
    const expired = hs256({ ...CLAIMS, exp: NOW_S - 60 }, { alg: 'HS256' }, next);
    expect(JSON.parse((await verify(expired, { ...both, json: true })).text)).toMatchObject({
      reason: 'Token Expired',
      key: 1,
    });
  });
});

describe('agentd token verify', () => {
  it('prints steps, verdict, claims, remaining time and user context of a valid token', async () => {
    const { code, text, noted } = await verify(
      hs256({ ...CLAIMS, name: 'Alice\u{1b}[31m', roles: ['editor'] }),
    );
    expect(code).toBe(0);
    expect(text).toMatch(/^CHECK +OUTCOME\nformat +ok\nalgorithm +ok\nsignature +ok\n/);
    expect(text).toContain('\nThe token is valid.\n');
    expect(text).toMatch(/\nname +Alice\u{fffd}\[31m\n/u);
    expect(text).toContain('\nExpires 2026-01-15T13:00:00.000Z, 1 h left.\n');
    expect(text).toMatch(
      /\nuser_id +u-1\nemail +alice@example\.com\nroles +editor\ntoken +eyJhbGci… sha256:/,
    );
    expect(noted).toContain('warning: a token in the arguments');
  });

  it('prints the reason and the skipped steps of an invalid token', async () => {
    const token = hs256({ ...CLAIMS, exp: NOW_S - 90_000 });
    const { code, text } = await verify(token, { JWT_VERIFY_SIGNATURE: false });
    expect(code).toBe(1);
    expect(text).toMatch(/\nsignature +not checked: JWT_VERIFY_SIGNATURE=false\n/);
    expect(text).toMatch(/\nexpiry +Token Expired\nnot before +not reached\n/);
    expect(text).toMatch(/\nThe token is invalid: Token Expired\n.*\bnew token\b/);
    expect(text).toContain('\nCLAIM (not to be trusted)');
    expect(text).toContain('\nExpired 2026-01-14T11:00:00.000Z, 1 day 1 h ago.\n');
    expect(text).not.toContain('User context');
    expect(text).not.toContain(token.slice(0, 12));
  });

  it('says why a key set cannot be fetched', async () => {
    const settings = { JWT_ALGORITHM: 'RS256', JWT_JWKS_URL: 'http://127.0.0.1:9/keys' } as const;
    const { code, text } = await verify(hs256(CLAIMS, { alg: 'RS256' }), settings);
    expect(code).toBe(1);
    expect(text).toContain('Invalid Signature: The key set at JWT_JWKS_URL cannot be reached: ');
  });
});
