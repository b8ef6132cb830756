import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  claimsOfStoredToken,
  decodePayload,
  decodeToken,
  TOKEN_MAX,
} from '../../../src/daemon/identity/decode-token.ts';
import { CLAIMS, hs256 } from './make-token.ts';

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const header = part({ alg: 'HS256' });

test.each([
  ['a complete token', `${header}.${part({ sub: 'u', email: 'e', exp: 1 })}.c2ln`],
  ['a token without claims', `${header}.${part({})}.c2ln`],
  ['a payload that is not an object', `${header}.${part([1])}.c2ln`],
  ['a payload that is not JSON', `${header}.bm8.c2ln`],
  ['two parts', `${header}.${part({ sub: 'u' })}`],
  ['an empty part', `${header}..c2ln`],
  ['white space', ` ${header}.${part({ sub: 'u' })}.c2ln`],
  ['a text that is too long', `${header}.${part({ sub: 'x'.repeat(TOKEN_MAX) })}.c2ln`],
])('decodePayload returns the same payload as decodeToken for %s', (_name, token) => {
  expect(decodePayload(token)).toEqual(decodeToken(token).payload);
});

test('decodePayload decodes the payload, whatever the header is', () => {
  expect(decodePayload(`x.${part({ sub: 'u' })}.c2ln`)).toEqual({ sub: 'u' });
});

describe('the claims of a stored token', () => {
  it('are read without a new validation', () => {
    const claims = { ...CLAIMS, exp: 1, name: 'Alice', locale: 'en-GB', timezone: 'Europe/London' };
    expect(claimsOfStoredToken(hs256(claims, { alg: 'other' }, 'other'))).toEqual(claims);
  });

  it('are empty if the stored text is not a token', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(claimsOfStoredToken(text)).toEqual({ sub: '', email: '', exp: 0 });
      }),
    );
  });
});
