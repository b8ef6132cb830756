import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeToken } from '../../../src/daemon/identity/decode-token.ts';
import { TOKEN_REASONS, type TokenReason } from '../../../src/daemon/identity/identity.ts';
import { createValidator, TOKEN_CHECKS, walkChecks } from '../../../src/daemon/identity/token-checks.ts';
import type { Log } from '../../../src/daemon/process/log.ts';
import {
  CLAIMS,
  encode,
  frozen,
  HEADER,
  hs256,
  KEYS,
  NOW,
  NOW_S,
  recordingLog,
  SECRET,
  SETTINGS,
} from './make-token.ts';

function validatorWith(settings: Partial<typeof SETTINGS> = {}, keys = KEYS) {
  const { log, lines } = recordingLog();
  const all = { ...SETTINGS, ...settings };
  return { validator: createValidator(all, keys, frozen, log as unknown as Log), lines };
}

async function reasonFor(
  token: string,
  settings: Partial<typeof SETTINGS> = {},
): Promise<TokenReason | 'valid'> {
  const verdict = await validatorWith(settings).validator.validate(token);
  return verdict.valid ? 'valid' : verdict.reason;
}

const STRICT = { JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: 'agentd' };
const past = NOW_S - 1;
const future = NOW_S + 60;

describe('if a token has several faults, the first fault in the sequence of checks is the reason', () => {
  const faults: [fault: string, token: string, reason: TokenReason][] = [
    ['two parts, no alg', `${encode({})}.${encode({})}`, 'JWT Malformed'],
    [
      'crit, alg none, bad signature, expired',
      hs256({ exp: past }, { alg: 'none', crit: ['x'] }, 'x'),
      'JWT Malformed',
    ],
    ['payload not an object, alg none, bad signature', hs256('[]', { alg: 'none' }, 'x'), 'JWT Malformed'],
    [
      'nbf not a number, alg none, bad signature, expired',
      hs256({ nbf: 'x', exp: past }, { alg: 'none' }, 'x'),
      'JWT Malformed',
    ],
    ['alg none, bad signature, no claims', hs256({}, { alg: 'none' }, 'x'), 'Algorithm Not Allowed'],
    ['bad signature, no claims', hs256({}, HEADER, 'x'), 'Invalid Signature'],
    ['bad signature, expired', hs256({ ...CLAIMS, exp: past }, HEADER, 'x'), 'Invalid Signature'],
    [
      'no email, expired, not yet valid',
      hs256({ sub: 'u', exp: past, nbf: future }),
      'Missing Required Claims',
    ],
    [
      'expired, not yet valid, wrong issuer',
      hs256({ ...CLAIMS, exp: past, nbf: future, iss: 'x' }),
      'Token Expired',
    ],
    [
      'not yet valid, wrong issuer and audience',
      hs256({ ...CLAIMS, nbf: future, iss: 'x' }),
      'Token Not Yet Valid',
    ],
    [
      'issued in the future, wrong issuer',
      hs256({ ...CLAIMS, iat: future, iss: 'x' }),
      'Token Not Yet Valid',
    ],
    ['wrong issuer and audience', hs256({ ...CLAIMS, iss: 'x', aud: 'x' }), 'Invalid Issuer'],
    ['wrong audience', hs256({ ...CLAIMS, iss: STRICT.JWT_ISSUER, aud: 'x' }), 'Invalid Audience'],
  ];
  it.each(faults)('for %s', async (_fault, token, reason) => {
    expect(await reasonFor(token, STRICT)).toBe(reason);
  });
});

describe('JWT Malformed', () => {
  const good = hs256();
  const [header = '', payload = '', signature = ''] = good.split('.');
  const whole = encode(JSON.stringify(CLAIMS).padEnd(99));
  const signedAs = (text: string) =>
    `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`;
  it.each([
    ['nothing at all', ''],
    ['one part', header],
    ['two parts', `${header}.${payload}`],
    ['four parts', `${good}.${signature}`],
    ['an empty header', `.${payload}.${signature}`],
    ['an empty payload', `${header}..${signature}`],
    ['an empty signature', `${header}.${payload}.`],
    ['a space before it', ` ${good}`],
    ['a line break after it', `${good}\n`],
    ['a space inside', `${header} .${payload}.${signature}`],
    ['padding', `${header}=.${payload}.${signature}`],
    ['the alphabet of plain base64', `${header}.${payload}+/.${signature}`],
    ['a header that is not base64 of whole bytes', `${'a'.repeat(5)}.${payload}.${signature}`],
    ['a character that is no whole byte, after a good header', signedAs(`${header}A.${payload}`)],
    ['a character that is no whole byte, after a good payload', signedAs(`${header}.${whole}A`)],
    ['a header that is not JSON', hs256(CLAIMS, '{')],
    ['a header that is an array', hs256(CLAIMS, [])],
    ['a header that is null', hs256(CLAIMS, null)],
    ['a payload that is a text', hs256('"text"')],
    ['a payload that is a number', hs256('1')],
    ['a payload with a byte order mark', hs256(`\u{feff}${JSON.stringify(CLAIMS)}`)],
    ['a crit header, even an empty one', hs256(CLAIMS, { ...HEADER, crit: [] })],
    ['a crit header that is null', hs256(CLAIMS, { ...HEADER, crit: null })],
    ['nbf that is a text', hs256({ ...CLAIMS, nbf: '0' })],
    ['nbf that is null', hs256({ ...CLAIMS, nbf: null })],
    ['iat that is an object', hs256({ ...CLAIMS, iat: {} })],
    ['more than 8192 characters', hs256({ ...CLAIMS, more: 'x'.repeat(8192) })],
  ])('is the reason for %s', async (_what, token) => {
    expect(await reasonFor(token)).toBe('JWT Malformed');
  });

  it('is the reason for a payload that is not UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from('{"sub":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect(await reasonFor(`${header}.${bytes.toString('base64url')}.${signature}`)).toBe('JWT Malformed');
  });

  it('is the reason for 8193 characters, but not for 8192', async () => {
    const tokens = Array.from({ length: 200 }, (_, length) =>
      hs256({ ...CLAIMS, more: 'x'.repeat(length + 5950) }),
    );
    const reasonAt = (length: number) => reasonFor(tokens.find((one) => one.length === length) ?? 'none');
    expect([await reasonAt(8192), await reasonAt(8193)]).toEqual(['valid', 'JWT Malformed']);
  });
});

describe('Algorithm Not Allowed', () => {
  it.each([
    ['none', 'none'],
    ['None', 'None'],
    ['the configured algorithm in another case', 'hs256'],
    ['a stronger algorithm of the same family', 'HS512'],
    ['an asymmetric algorithm', 'RS256'],
    ['not a text', 256],
    ['an array with the configured algorithm', ['HS256']],
    ['absent', undefined],
  ])('is the reason if alg is %s', async (_what, alg) => {
    expect(await reasonFor(hs256(CLAIMS, { ...HEADER, alg }))).toBe('Algorithm Not Allowed');
    expect(await reasonFor(hs256(CLAIMS, { ...HEADER, alg }), { JWT_VERIFY_SIGNATURE: false })).toBe(
      'Algorithm Not Allowed',
    );
  });

  it('is the reason even right after a token with the right alg, and a header of the same length', async () => {
    for (const alg of ['HS256', 'HS384', 'HS256'])
      expect(await reasonFor(hs256(CLAIMS, { ...HEADER, alg }))).toBe(
        alg === 'HS256' ? 'valid' : 'Algorithm Not Allowed',
      );
  });

  it('is the reason even if a __proto__ member has the right alg', async () => {
    expect(await reasonFor(hs256(CLAIMS, '{"__proto__":{"alg":"HS256"}}'))).toBe('Algorithm Not Allowed');
  });
});

describe('Invalid Signature', () => {
  const good = hs256();
  const signed = good.slice(0, good.lastIndexOf('.'));
  it.each(['signature', 'wrong', 'x', 'invalid-signature'])(
    'is the reason for the signature "%s"',
    async (text) => {
      expect(await reasonFor(`${signed}.${text}`)).toBe('Invalid Signature');
    },
  );

  it('is the reason even if the signature differs only in unused bits of its last character', async () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = alphabet.indexOf(good.at(-1) ?? '');
    const twin = `${good.slice(0, -1)}${alphabet[last ^ 1]}`;
    expect(Buffer.from(twin.split('.')[2] ?? '', 'base64url')).toEqual(
      Buffer.from(good.split('.')[2] ?? '', 'base64url'),
    );
    expect(await reasonFor(twin)).toBe('Invalid Signature');
  });

  it('is never the reason with JWT_VERIFY_SIGNATURE=false', async () => {
    expect(await reasonFor(`${signed}.x`, { JWT_VERIFY_SIGNATURE: false })).toBe('valid');
  });

  it('is the reason if the signature cannot be checked, and the cause is logged', async () => {
    const cause = new Error('out of reach');
    const { validator, lines } = validatorWith({}, { verify: () => Promise.reject(cause) });
    expect(await validator.validate(good)).toEqual({ valid: false, reason: 'Invalid Signature' });
    expect(lines).toEqual([
      {
        level: 'warn',
        fields: { reason: 'Invalid Signature', err: cause },
        message: 'token refused: Invalid Signature',
      },
    ]);
  });
});

describe('Missing Required Claims', () => {
  it.each([
    ['sub absent', { sub: undefined }],
    ['sub empty', { sub: '' }],
    ['sub a number', { sub: 5 }],
    ['sub null', { sub: null }],
    ['sub with a control character', { sub: 'a\nb' }],
    ['sub with a lone surrogate', { sub: 'a\u{d800}' }],
    ['email absent', { email: undefined }],
    ['email empty', { email: '' }],
    ['email an array', { email: ['a@b.c'] }],
    ['email with a control character', { email: 'a@b.c\u{0}' }],
    ['exp absent', { exp: undefined }],
    ['exp a text', { exp: String(NOW_S + 60) }],
    ['exp null', { exp: null }],
    ['exp beyond the range of dates', { exp: 8.64e12 + 1 }],
  ])('is the reason for %s', async (_what, claims) => {
    const token = hs256({ ...CLAIMS, ...claims });
    expect(await reasonFor(token)).toBe('Missing Required Claims');
    expect(await reasonFor(token, { JWT_VERIFY_EXP: false })).toBe('Missing Required Claims');
  });

  it('is the reason for an exp that is not a finite number', async () => {
    expect(await reasonFor(hs256('{"sub":"u","email":"a@b.c","exp":1e999}'))).toBe('Missing Required Claims');
  });

  it('is not the reason for the largest exp that is still a date', async () => {
    expect(await reasonFor(hs256({ ...CLAIMS, exp: 8.64e12 }))).toBe('valid');
  });
});

describe('the times of a token', () => {
  it.each([
    ['exp now', { exp: NOW_S }, 0, 'Token Expired'],
    ['exp one second from now', { exp: NOW_S + 1 }, 0, 'valid'],
    ['exp a fraction of a second from now', { exp: NOW_S + 0.5 }, 0, 'valid'],
    ['exp long ago', { exp: 0 }, 0, 'Token Expired'],
    ['exp within the tolerance', { exp: NOW_S - 29 }, 30, 'valid'],
    ['exp at the end of the tolerance', { exp: NOW_S - 30 }, 30, 'Token Expired'],
    ['nbf now', { nbf: NOW_S }, 0, 'valid'],
    ['nbf one second from now', { nbf: NOW_S + 1 }, 0, 'Token Not Yet Valid'],
    ['nbf within the tolerance', { nbf: NOW_S + 30 }, 30, 'valid'],
    ['nbf beyond the tolerance', { nbf: NOW_S + 31 }, 30, 'Token Not Yet Valid'],
    ['iat one second from now', { iat: NOW_S + 1 }, 0, 'Token Not Yet Valid'],
    ['iat before 1970', { iat: -1 }, 0, 'valid'],
  ])('are judged correctly for %s', async (_what, claims, skew, expected) => {
    expect(await reasonFor(hs256({ ...CLAIMS, ...claims }), { JWT_CLOCK_SKEW_SECONDS: skew })).toBe(expected);
  });

  it('say since when an expired token has been refused: since its exp and the tolerance', async () => {
    const { validator } = validatorWith({ JWT_CLOCK_SKEW_SECONDS: 30 });
    expect(await validator.validate(hs256({ ...CLAIMS, exp: NOW_S - 31 }))).toMatchObject({
      valid: false,
      expired: { at: (NOW_S - 1) * 1000 },
    });
  });

  it('name the person of an expired token, unless the token has another fault', async () => {
    const { validator } = validatorWith(STRICT);
    const fitting = { ...CLAIMS, iss: STRICT.JWT_ISSUER, aud: STRICT.JWT_AUDIENCE, exp: past };
    expect(await validator.validate(hs256(fitting))).toHaveProperty('expired.person');
    for (const fault of [{ iss: 'https://other.example' }, { aud: 'other' }, { nbf: future }])
      expect(await validator.validate(hs256({ ...fitting, ...fault }))).toEqual({
        valid: false,
        reason: 'Token Expired',
      });
  });

  it('may include an expired exp, but no future nbf, with JWT_VERIFY_EXP=false', async () => {
    const off = { JWT_VERIFY_EXP: false };
    expect(await reasonFor(hs256({ ...CLAIMS, exp: past }), off)).toBe('valid');
    expect(await reasonFor(hs256({ ...CLAIMS, exp: past, nbf: future }), off)).toBe('Token Not Yet Valid');
  });
});

describe('the issuer and the audience of a token', () => {
  it.each([
    ['no issuer and no audience', {}],
    ['an issuer and audiences', { iss: 'https://other.example', aud: ['a', 'b'] }],
    ['the star itself', { iss: '*', aud: '*' }],
  ])('may have any value if * is configured: %s', async (_what, claims) => {
    expect(await reasonFor(hs256({ ...CLAIMS, ...claims }), { JWT_ISSUER: '*', JWT_AUDIENCE: '*' })).toBe(
      'valid',
    );
  });

  it.each([
    ['two matching values', { iss: STRICT.JWT_ISSUER, aud: 'agentd' }, 'valid'],
    ['the right audience among several', { iss: STRICT.JWT_ISSUER, aud: ['other', 'agentd'] }, 'valid'],
    ['no issuer', { aud: 'agentd' }, 'Invalid Issuer'],
    ['an issuer in another case', { iss: 'https://Issuer.example', aud: 'agentd' }, 'Invalid Issuer'],
    [
      'an issuer that only has the same beginning',
      { iss: `${STRICT.JWT_ISSUER}/`, aud: 'agentd' },
      'Invalid Issuer',
    ],
    ['an array of issuers', { iss: [STRICT.JWT_ISSUER], aud: 'agentd' }, 'Invalid Issuer'],
    ['no audience', { iss: STRICT.JWT_ISSUER }, 'Invalid Audience'],
    ['an empty list of audiences', { iss: STRICT.JWT_ISSUER, aud: [] }, 'Invalid Audience'],
    ['an audience that contains the name', { iss: STRICT.JWT_ISSUER, aud: 'agentd2' }, 'Invalid Audience'],
    ['an audience that is an object', { iss: STRICT.JWT_ISSUER, aud: { agentd: true } }, 'Invalid Audience'],
    ['an audience in a nested list', { iss: STRICT.JWT_ISSUER, aud: [['agentd']] }, 'Invalid Audience'],
  ])('are judged correctly for %s', async (_what, claims, expected) => {
    expect(await reasonFor(hs256({ ...CLAIMS, ...claims }), STRICT)).toBe(expected);
  });

  it('are not checked if none is configured', async () => {
    expect(await reasonFor(hs256({ ...CLAIMS, iss: 1, aud: 2 }))).toBe('valid');
  });
});

describe('a valid token', () => {
  it('provides the user context, the claims, the person and the expiry in ms', async () => {
    const claims = {
      ...CLAIMS,
      iss: 'i',
      tenant_id: 't',
      roles: ['a'],
      name: 'Alice',
      locale: 'en-GB',
      timezone: 'Europe/London',
      organization: 'Shop',
      phone: '+4915112345678',
      iat: NOW_S,
      nbf: NOW_S,
      sid: 's-1',
      aud: ['x'],
    };
    const token = hs256({ ...claims, unknown: 1 });
    const verdict = await validatorWith().validator.validate(token);
    if (!verdict.valid) throw new Error(verdict.reason);
    expect(verdict.user).toMatchObject({ user_id: 'u-1', email: 'alice@example.com', roles: ['a'] });
    expect(verdict.user.token.reveal()).toBe(token);
    expect(verdict.claims).toEqual(claims);
    expect(verdict.person).toBe('["i","t","u-1"]');
    expect(verdict.expires_at).toBe(CLAIMS.exp * 1000);
  });

  it('is accepted without the optional claims that have a wrong type', async () => {
    const wrong = {
      name: 1,
      roles: 'admin',
      organization: null,
      phone: [],
      locale: {},
      timezone: true,
      aud: [1],
    };
    const verdict = await validatorWith().validator.validate(hs256({ ...CLAIMS, ...wrong }));
    if (!verdict.valid) throw new Error(verdict.reason);
    expect(verdict.claims).toEqual(CLAIMS);
    expect(verdict.user.roles).toEqual([]);
  });

  it('may have a phone number that is a JSON number: otherwise it would name no number', async () => {
    const verdict = await validatorWith().validator.validate(hs256({ ...CLAIMS, phone: 4915112345678 }));
    expect(verdict).toMatchObject({ valid: true, claims: { phone: '4915112345678' } });
  });

  it('identifies a different person for each tenant that is a number', async () => {
    const { validator } = validatorWith();
    const one = await validator.validate(hs256({ ...CLAIMS, tenant_id: 1 }));
    const two = await validator.validate(hs256({ ...CLAIMS, tenant_id: 2 }));
    if (!one.valid || !two.valid) throw new Error('expected both to be valid');
    expect(one.person).not.toBe(two.person);
  });

  it('identifies different people even for tenants that are equal as rounded numbers', async () => {
    const { validator } = validatorWith();
    const numbered = (number: string) => {
      const payload = JSON.stringify({ ...CLAIMS, tenant_id: '?' }).replace('"?"', number);
      return validator.validate(hs256(payload));
    };
    const [one, two] = await Promise.all([numbered('9007199254740992'), numbered('9007199254740993')]);
    if (!one.valid || !two.valid) throw new Error('expected both to be valid');
    expect(one.person).not.toBe(two.person);
  });

  it.each(['sub', 'email'])('must have a text as %s, not a long number', async (name) => {
    const payload = JSON.stringify({ ...CLAIMS, [name]: '?' }).replace('"?"', '9007199254740993');
    const verdict = await validatorWith().validator.validate(hs256(payload));
    expect(verdict).toMatchObject({ valid: false, reason: 'Missing Required Claims' });
  });

  it('is refused as not yet valid if its nbf is too large for a number', async () => {
    const payload = JSON.stringify({ ...CLAIMS, nbf: '?' }).replace('"?"', '99999999999999999999');
    const verdict = await validatorWith().validator.validate(hs256(payload));
    expect(verdict).toMatchObject({ valid: false, reason: 'Token Not Yet Valid' });
  });
});

describe('the log of the validation', () => {
  it('has one warning with the reason for each refused token', async () => {
    const { validator, lines } = validatorWith();
    await validator.validate('x.y.z');
    expect(lines).toEqual([
      { level: 'warn', fields: { reason: 'JWT Malformed' }, message: 'token refused: JWT Malformed' },
    ]);
  });

  it('has nothing about a valid token without JWT_DEBUG', async () => {
    const { validator, lines } = validatorWith();
    await validator.validate(hs256());
    expect(lines).toEqual([]);
  });

  it('has claims, decision and a short form of the token with JWT_DEBUG, but never the token', async () => {
    const { validator, lines } = validatorWith({ JWT_DEBUG: true });
    const token = hs256({ ...CLAIMS, exp: past });
    await validator.validate(token);
    expect(lines[0]).toEqual({
      level: 'info',
      fields: {
        token: expect.stringMatching(/^eyJhbGci… sha256:[0-9a-f]{8}$/),
        claims: { ...CLAIMS, exp: past },
        decision: 'Token Expired',
      },
      message: 'token checked',
    });
    expect(JSON.stringify(lines)).not.toContain(token.split('.')[1]);
  });
});

describe('the validation of any input', () => {
  const json = fc.jsonValue();

  it('never throws, and never accepts a token without the key', async () => {
    const { validator } = validatorWith();
    const parts = fc
      .tuple(json, json, fc.base64String())
      .map(([h, p, s]) => `${encode(h)}.${encode(p)}.${s}`);
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary' }), parts), async (token) => {
        expect((await validator.validate(token)).valid).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it('accepts no token in which a single character was changed, added or removed', async () => {
    const { validator } = validatorWith();
    const token = hs256({ ...CLAIMS, tenant_id: 't' });
    const place = fc.nat(token.length - 1);
    await fc.assert(
      fc.asyncProperty(place, fc.string({ minLength: 0, maxLength: 2 }), async (at, text) => {
        const altered = token.slice(0, at) + text + token.slice(at + 1);
        fc.pre(altered !== token);
        expect((await validator.validate(altered)).valid).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });

  it('never accepts a token with a forged alg', async () => {
    const { validator } = validatorWith({ JWT_VERIFY_SIGNATURE: false });
    await fc.assert(
      fc.asyncProperty(json, async (alg) => {
        fc.pre(alg !== 'HS256');
        const verdict = await validator.validate(hs256(CLAIMS, { alg }));
        expect(verdict).toEqual({ valid: false, reason: 'Algorithm Not Allowed' });
      }),
    );
  });

  it('accepts a token only if sub, email and exp have the right types', async () => {
    const { validator } = validatorWith();
    const payload = fc.record(
      {
        sub: fc.oneof(json, fc.string()),
        email: fc.oneof(json, fc.string()),
        exp: fc.oneof(json, fc.integer()),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(payload, async (claims) => {
        const verdict = await validator.validate(hs256(claims));
        if (!verdict.valid) return;
        expect(verdict.user.user_id).toMatch(/./u);
        expect(verdict.user.email).toMatch(/./u);
        expect(verdict.expires_at).toBeGreaterThan(NOW_S * 1000);
        expect(Number.isNaN(Date.parse(new Date(verdict.expires_at).toISOString()))).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

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
