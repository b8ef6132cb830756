import { describe, expect, it } from 'vitest';
import type { VerificationKeys } from '../../../src/daemon/identity/keys.ts';
import { acceptsLogout, createLogoutValidator } from '../../../src/daemon/identity/logout-token.ts';
import { createValidator } from '../../../src/daemon/identity/token-checks.ts';
import type { Log } from '../../../src/daemon/process/log.ts';
import { CLAIMS, frozen, hs256, KEYS, NOW_S, recordingLog, SETTINGS } from './make-token.ts';

const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} };
const STRICT = { ...SETTINGS, JWT_ISSUER: 'https://shop.example', JWT_AUDIENCE: 'agentd' };
const HEADER = { alg: 'HS256', typ: 'logout+jwt' };
const LOGOUT = {
  ...{ iss: 'https://shop.example', aud: 'agentd', sub: 'ada', jti: 'j1', events: EVENTS },
  ...{ iat: NOW_S - 5, exp: NOW_S + 120 },
};
const without = (name: keyof typeof LOGOUT) =>
  Object.fromEntries(Object.entries(LOGOUT).filter(([key]) => key !== name));

async function examine(payload: unknown, header: object = HEADER, keys: VerificationKeys = KEYS) {
  const { log, lines } = recordingLog();
  const token = hs256(payload, header);
  const verdict = await createLogoutValidator(STRICT, keys, frozen, log as unknown as Log).validate(
    token,
    'r1',
  );
  expect(JSON.stringify(lines)).not.toContain(token);
  return verdict;
}

describe('a logout token', () => {
  it('is valid with a person, a session, or both; without e-mail; and without a type', async () => {
    const claims = {
      ...{ iss: 'https://shop.example', jti: 'j1', iat: NOW_S - 5, sub: 'ada', sid: null, tenant_id: null },
      expires_at: (NOW_S + 120) * 1000,
    };
    expect(await examine(LOGOUT)).toEqual({ valid: true, claims });
    expect(await examine(LOGOUT, { alg: 'HS256' })).toMatchObject({ valid: true });
    expect(await examine(LOGOUT, { alg: 'HS256', typ: 'application/LOGOUT+JWT' })).toMatchObject({
      valid: true,
    });
    expect(await examine({ ...without('sub'), sid: 's1' })).toEqual({
      valid: true,
      claims: { ...claims, sub: null, sid: 's1' },
    });
    expect(await examine({ ...LOGOUT, sid: 's1', tenant_id: 7 })).toEqual({
      valid: true,
      claims: { ...claims, sid: 's1', tenant_id: '7' },
    });
  });

  const faults: [what: string, payload: unknown, reason: string, header?: object][] = [
    ['is signed with another algorithm', LOGOUT, 'Algorithm Not Allowed', { ...HEADER, alg: 'none' }],
    ['has expired', { ...LOGOUT, exp: NOW_S }, 'Token Expired'],
    ['has no expiry', without('exp'), 'Missing Required Claims'],
    ['has no time of issue', without('iat'), 'Missing Required Claims'],
    ['has no jti', without('jti'), 'Missing Required Claims'],
    ['names neither person nor session', without('sub'), 'Missing Required Claims'],
    ['names a person that is no text', { ...LOGOUT, sub: 7, sid: 's1' }, 'Missing Required Claims'],
    ['names a session that is no text', { ...LOGOUT, sid: ['s1'] }, 'Missing Required Claims'],
    ['was issued in the future', { ...LOGOUT, iat: NOW_S + 60 }, 'Token Not Yet Valid'],
    ['counts only in the future', { ...LOGOUT, nbf: NOW_S + 60 }, 'Token Not Yet Valid'],
    ['comes from another issuer', { ...LOGOUT, iss: 'https://other.example' }, 'Invalid Issuer'],
    ['is for another service', { ...LOGOUT, aud: ['other'] }, 'Invalid Audience'],
    ['reports no event', without('events'), 'No Logout Event'],
    ['reports another event', { ...LOGOUT, events: { 'urn:other': {} } }, 'No Logout Event'],
    [
      'reports the event as a text',
      { ...LOGOUT, events: { [Object.keys(EVENTS)[0] as string]: '' } },
      'No Logout Event',
    ],
    ['has a nonce', { ...LOGOUT, nonce: 'n' }, 'Nonce Not Allowed'],
    ['has a nonce that is null', { ...LOGOUT, nonce: null }, 'Nonce Not Allowed'],
    ['is of another type', LOGOUT, 'Wrong Token Type', { alg: 'HS256', typ: 'JWT' }],
    ['is of a type that is no text', LOGOUT, 'Wrong Token Type', { alg: 'HS256', typ: null }],
    ['is no JSON', 'x', 'JWT Malformed'],
  ];
  it.each(faults)('is refused if it %s', async (_what, payload, reason, header = HEADER) => {
    expect(await examine(payload, header)).toEqual({ valid: false, reason });
  });

  it('is refused with a wrong signature, and never with only a user token', async () => {
    const { log } = recordingLog();
    const { validate } = createLogoutValidator(STRICT, KEYS, frozen, log as unknown as Log);
    const forged = hs256(LOGOUT, HEADER, 'another secret of enough bits, for everybody');
    expect(await validate(forged, 'r1')).toEqual({ valid: false, reason: 'Invalid Signature' });
    const user = hs256({ ...CLAIMS, iss: LOGOUT.iss, aud: LOGOUT.aud, iat: NOW_S, jti: 'j' });
    expect(await validate(user, 'r1')).toMatchObject({ valid: false });
  });

  it('asks for a key as a logout token, and is neither valid nor invalid if the keys cannot be reached', async () => {
    const asked: unknown[] = [];
    const keys: VerificationKeys = {
      verify: ({ isLogout }) => {
        asked.push(isLogout);
        throw new Error('out of reach');
      },
    };
    expect(await examine(LOGOUT, HEADER, keys)).toMatchObject({ valid: 'unknown' });
    expect(asked).toEqual([true]);
  });

  it('is accepted only if issuer and audience are set', () => {
    expect(acceptsLogout(STRICT)).toBe(true);
    for (const open of [
      { JWT_ISSUER: '*' },
      { JWT_AUDIENCE: '*' },
      { JWT_ISSUER: undefined },
      { JWT_AUDIENCE: undefined },
    ])
      expect(acceptsLogout({ ...STRICT, ...open })).toBe(false);
  });
});

it.each([
  ['reports events', { ...CLAIMS, events: EVENTS }, {}],
  ['reports no event in `events`', { ...CLAIMS, events: null }, {}],
  ['has the type of a logout token', CLAIMS, { typ: 'Logout+jwt' }],
  ['has the whole type of a logout token', CLAIMS, { typ: 'application/logout+jwt' }],
])('a token that %s is not a user token', async (_what, payload, header) => {
  const validator = createValidator(SETTINGS, KEYS, frozen, recordingLog().log as unknown as Log);
  const verdict = await validator.validate(hs256(payload, { alg: 'HS256', ...header }));
  expect(verdict).toEqual({ valid: false, reason: 'JWT Malformed' });
});
