import { describe, expect, it } from 'vitest';
import { cookieFor, tokensInCookie } from '../../../plugins/sse/index.ts';

const CLEARED = 'jwt_token=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax';

describe('the cookie for a token', () => {
  it('has the documented attributes, and is set without checking the token', () => {
    expect(cookieFor('ey_J-a.b.')).toBe(
      'jwt_token=ey_J-a.b.; Max-Age=3600; Path=/; HttpOnly; Secure; SameSite=Lax',
    );
  });

  it('is cleared if the client has signed out, and left unchanged if there is no token', () => {
    expect(cookieFor(null)).toBe(CLEARED);
    expect(cookieFor(undefined)).toBeNull();
  });

  it.each(['a b', 'a;Domain=x', 'a,b', 'a"b', 'a\r\nSet-Cookie: x=y', 'ä', 'a+b', 'a/b', 'a='])(
    'is cleared for a malformed token: %j',
    (token) => {
      expect(cookieFor(token)).toBe(CLEARED);
    },
  );

  it('is cleared if the token is too long for browsers to store', () => {
    const longest = 'x'.repeat(4096 - 'jwt_token='.length);
    expect(cookieFor(longest)).toContain(longest);
    expect(cookieFor(`${longest}x`)).toBe(CLEARED);
  });
});

describe('the tokens in a cookie header', () => {
  it('are all found, even among other cookies and even if empty', () => {
    expect(tokensInCookie('a=b; jwt_token=x.y.z; c=d')).toEqual(['x.y.z']);
    expect(tokensInCookie('jwt_token=x==')).toEqual(['x==']);
    expect(tokensInCookie('jwt_token=x; jwt_token=y')).toEqual(['x', 'y']);
    expect(tokensInCookie('jwt_token=; a=b')).toEqual(['']);
    expect(tokensInCookie('xjwt_token=x; jwt_token2=y')).toEqual([]);
    expect(tokensInCookie(undefined)).toEqual([]);
  });
});
