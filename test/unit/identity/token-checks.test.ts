import { describe, expect, it } from 'vitest';
import { decodeToken } from '../../../src/daemon/identity/decode-token.ts';
import { TOKEN_REASONS } from '../../../src/daemon/identity/identity.ts';
import { TOKEN_CHECKS, walkChecks } from '../../../src/daemon/identity/token-checks.ts';
import { CLAIMS, hs256, KEYS, NOW, NOW_S, SETTINGS } from './make-token.ts';

async function walk(token: string, settings: Partial<typeof SETTINGS> = {}) {
  const steps = [];
  const examination = {
    token: decodeToken(token),
    settings: { ...SETTINGS, ...settings },
    keys: KEYS,
    now: NOW,
  };
  for await (const step of walkChecks(examination)) steps.push(step);
  return steps;
}

describe('the sequence of token checks', () => {
  it('has one check for each reason, in the documented order', () => {
    expect(TOKEN_CHECKS.map(({ reason }) => reason)).toEqual([...TOKEN_REASONS]);
  });

  it('reports every check of a valid token as ok', async () => {
    expect(await walk(hs256())).toEqual([
      { check: 'format', outcome: 'ok' },
      { check: 'algorithm', outcome: 'ok' },
      { check: 'signature', outcome: 'ok' },
      { check: 'required claims', outcome: 'ok' },
      { check: 'expiry', outcome: 'ok' },
      { check: 'not before', outcome: 'ok' },
      { check: 'issuer', outcome: 'ok' },
      { check: 'audience', outcome: 'ok' },
    ]);
  });

  it('reports the first failure with its reason, and all later checks as not reached', async () => {
    const steps = await walk(hs256({ ...CLAIMS, exp: NOW_S }), { JWT_ISSUER: 'x' });
    expect(steps[4]).toEqual({ check: 'expiry', outcome: 'failed', reason: 'Token Expired' });
    expect(steps.slice(5).map(({ outcome }) => outcome)).toEqual([
      'not reached',
      'not reached',
      'not reached',
    ]);
  });

  it('names the setting that has disabled a check', async () => {
    const steps = await walk(hs256(), { JWT_VERIFY_SIGNATURE: false, JWT_VERIFY_EXP: false });
    expect(steps[2]).toEqual({ check: 'signature', outcome: 'off', setting: 'JWT_VERIFY_SIGNATURE' });
    expect(steps[4]).toEqual({ check: 'expiry', outcome: 'off', setting: 'JWT_VERIFY_EXP' });
  });

  it('runs no further check after a failure', async () => {
    const asked: string[] = [];
    const keys = {
      verify: () => {
        asked.push('signature');
        return true;
      },
    };
    const examination = { token: decodeToken('x'), settings: SETTINGS, keys, now: NOW };
    for await (const _step of walkChecks(examination));
    expect(asked).toEqual([]);
  });
});
