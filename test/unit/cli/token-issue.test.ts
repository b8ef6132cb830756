import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { command } from '../../../src/cli/commands/token-issue.ts';
import { createOutput } from '../../../src/cli/output.ts';
import { decodeToken } from '../../../src/daemon/identity/decode-token.ts';
import { importKeys } from '../../../src/daemon/identity/keys.ts';
import { createValidator } from '../../../src/daemon/identity/token-checks.ts';
import type { Log } from '../../../src/daemon/process/log.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import { frozen, KEYS, NOW, NOW_S, recordingLog, SETTINGS } from '../identity/make-token.ts';
import { exitCodeOf } from './captured-output.ts';
import { stubSettings } from './stub-settings.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: NOW }));
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

const PERSON = { sub: '42', email: 'alice@example.com' };

/** What the last call printed to stderr. */
let notes = '';

async function issue(
  options: Record<string, unknown>,
  settings: Partial<Settings> = {},
  json = false,
): Promise<string> {
  stubSettings({ ...SETTINGS, ...settings });
  const printed: string[] = [];
  notes = '';
  const sink = { write: (text: string) => printed.push(text) };
  const stderr = {
    write: (text: string) => {
      notes += text;
    },
  };
  const out = createOutput({ json, stdout: sink, stderr, env: {} });
  expect(await exitCodeOf(command, { args: [], options: { ttl: '24h', ...options }, out })).toBe(0);
  return printed.join('');
}

async function claimsOf(options: Record<string, unknown>, settings: Partial<Settings> = {}) {
  return decodeToken((await issue({ ...PERSON, ...options }, settings)).trim()).payload;
}

describe('agentd token issue', () => {
  it('prints only a token, which the daemon accepts', async () => {
    const printed = await issue(PERSON);
    expect(printed).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const validator = createValidator(SETTINGS, KEYS, frozen, recordingLog().log as unknown as Log);
    expect(await validator.validate(printed.trim())).toMatchObject({ valid: true, user: { user_id: '42' } });
  });

  it('signs with the first of several secrets', async () => {
    const [next, old] = ['the-next-secret-of-at-least-256-bits', 'the-old-secret-of-at-least-256-bits-'];
    const printed = await issue(PERSON, { JWT_SECRET_KEY: new Secret(`${next}\n${old}`) });
    const verdictWith = async (secret: string) => {
      const settings = { ...SETTINGS, JWT_SECRET_KEY: new Secret(secret) };
      const log = recordingLog().log as unknown as Log;
      return createValidator(settings, await importKeys(settings), frozen, log).validate(printed.trim());
    };
    expect(await verdictWith(next)).toMatchObject({ valid: true });
    expect(await verdictWith(old)).toMatchObject({ valid: false, reason: 'Invalid Signature' });
  });

  it('warns about an invalid e-mail address', async () => {
    await issue({ ...PERSON, email: 'notmail' });
    expect(notes).toBe('warning: --email notmail is not an e-mail address\n');
    await issue(PERSON);
    expect(notes).toBe('');
  });

  it('prints the token with its claims as JSON', async () => {
    const { token, claims, ...others } = JSON.parse(await issue(PERSON, {}, true));
    expect(decodeToken(token).payload).toEqual(claims);
    expect([claims, others]).toEqual([{ ...PERSON, iat: NOW_S, exp: NOW_S + 86_400 }, {}]);
  });

  it('sets no issuer or audience if the settings allow any', async () => {
    const payload = await claimsOf({}, { JWT_ISSUER: '*', JWT_AUDIENCE: '*' });
    expect(payload).not.toHaveProperty('iss');
    expect(payload).not.toHaveProperty('aud');
  });

  it('sets a lifetime of 24 hours, and the configured issuer and audience', async () => {
    expect(await claimsOf({}, { JWT_ISSUER: 'i', JWT_AUDIENCE: 'a' })).toEqual({
      ...PERSON,
      iat: NOW_S,
      exp: NOW_S + 86_400,
      iss: 'i',
      aud: 'a',
    });
  });

  it('accepts name, roles, lifetime and other claims, and reads other claims as JSON if possible', async () => {
    const options = {
      name: 'Alice',
      role: ['editor', 'admin'],
      ttl: '15m',
      claim: ['tenant_id=acme', 'aud=["x","y"]', 'level=3', 'note=a=b', 'iss=other'],
    };
    expect(await claimsOf(options, { JWT_ISSUER: 'i' })).toEqual({
      ...PERSON,
      name: 'Alice',
      roles: ['editor', 'admin'],
      iat: NOW_S,
      exp: NOW_S + 900,
      iss: 'other',
      tenant_id: 'acme',
      aud: ['x', 'y'],
      level: 3,
      note: 'a=b',
    });
  });

  it('can create expired tokens', async () => {
    expect(await claimsOf({ claim: ['exp=1'] })).toMatchObject({ exp: 1 });
  });

  it.each([
    ['a missing --sub', { sub: undefined }, '--sub is missing'],
    ['an empty --email', { email: '' }, '--email is missing'],
    ['an invalid --ttl', { ttl: 'soon' }, "--ttl takes a time from 1 second to 10 years, not 'soon'"],
    ['a --ttl of 0', { ttl: '0' }, "--ttl takes a time from 1 second to 10 years, not '0'"],
    ['a --ttl of 11 years', { ttl: '4015d' }, "--ttl takes a time from 1 second to 10 years, not '4015d'"],
    ['a --claim without a value', { claim: ['x'] }, "--claim takes name=value, not 'x'"],
  ])('refuses %s as wrong usage', async (_what, options, message) => {
    await expect(issue({ ...PERSON, ...options })).rejects.toMatchObject({
      name: 'CliError',
      exitCode: 2,
      message,
    });
  });

  it('refuses a token that would be too long', async () => {
    await expect(issue({ ...PERSON, name: 'x'.repeat(8192) })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/^the token would have \d+ characters$/),
    });
  });

  it('is refused if NODE_ENV=production, unless --force is given', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    await expect(issue(PERSON)).rejects.toMatchObject({
      exitCode: 78,
      message: 'token issue is refused if NODE_ENV=production',
    });
    expect(await claimsOf({ force: true })).toMatchObject(PERSON);
  });

  it('signs with HS256 only', async () => {
    await expect(
      issue(PERSON, { JWT_ALGORITHM: 'RS256', JWT_JWKS_URL: 'http://127.0.0.1:9/keys' }),
    ).rejects.toMatchObject({
      exitCode: 78,
      message: 'token issue signs with HS256 only, and JWT_ALGORITHM is RS256',
    });
  });
});
