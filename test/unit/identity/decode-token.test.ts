import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimsOfStoredToken } from '../../../src/daemon/identity/decode-token.ts';
import { CLAIMS, hs256 } from './make-token.ts';

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
