import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { identifyPerson, readExpiry, TokenSource } from '../../../plugins/webchat/widget/talk/token.ts';

function token(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'HS256' })}.${part(claims)}.c2ln`;
}

const now = Date.UTC(2026, 0, 1) / 1000;
const lasting = (seconds: number, sub = 'ada') => token({ sub, exp: now + seconds });

beforeEach(() => {
  vi.useFakeTimers({ now: now * 1000 });
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('the person of a token', () => {
  it('is determined by the issuer, the tenant and the subject together', () => {
    expect(identifyPerson(null)).toBeNull();
    expect(identifyPerson(token({ sub: 'ada', exp: 1 }))).toBe(identifyPerson(token({ sub: 'ada', exp: 2 })));
    const others = [{ sub: 'ada' }, { sub: 'ada', iss: 'x' }, { sub: 'ada', tenant_id: 'x' }, { sub: 'x' }];
    expect(new Set(others.map((claims) => identifyPerson(token(claims)))).size).toBe(4);
    expect(identifyPerson(token({ sub: 'Zoë 🎈' }))).toContain('Zoë 🎈');
  });

  it('is identified by a hash of the token if it names nobody, because the token itself must not be stored', () => {
    expect(identifyPerson('another')).not.toBeNull();
    for (const nameless of ['not a token', token({ exp: 1 })]) {
      expect(identifyPerson(nameless)).not.toBe(identifyPerson('another'));
      expect(identifyPerson(nameless)).not.toContain(nameless);
    }
    expect(readExpiry('not a token')).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('the token that the widget gets from the site', () => {
  it('is requested once, and again when it is valid for less than five minutes', async () => {
    const ask = vi.fn(async () => lasting(3600));
    const tokens = new TokenSource(ask, null);
    await tokens.current();
    vi.setSystemTime((now + 3600 - 301) * 1000);
    await tokens.current();
    expect(ask).toHaveBeenCalledTimes(1);
    vi.setSystemTime((now + 3600 - 299) * 1000);
    await tokens.current();
    expect(ask).toHaveBeenCalledTimes(2);
  });

  it.each([null, undefined, ''])('may be %j, which means that nobody is signed in', async (answer) => {
    expect(await new TokenSource(() => answer, null).current()).toBeNull();
    // Also after somebody was.
    expect(await new TokenSource(() => answer, lasting(3600)).renew()).toBeNull();
  });

  it('is requested once, however many callers wait for it', async () => {
    const ask = vi.fn(async () => lasting(3600));
    const tokens = new TokenSource(ask, null);
    await Promise.all([tokens.current(), tokens.current(), tokens.renew()]);
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it('stays in use if the site cannot answer, and is requested again at the next use', async () => {
    const fresh = lasting(7200);
    const ask = vi
      .fn<() => Promise<string>>()
      .mockResolvedValueOnce(lasting(200))
      .mockRejectedValueOnce(new Error('down'))
      .mockResolvedValueOnce(fresh);
    const tokens = new TokenSource(ask, null);
    const first = await tokens.current();
    expect(await tokens.current()).toBe(first);
    expect(await tokens.current()).toBe(fresh);
    expect(console.warn).toHaveBeenCalledTimes(1);
  });

  it('is waited for at most ten seconds, and then the widget uses the token that it already has', async () => {
    const tokens = new TokenSource(() => new Promise(() => undefined), lasting(60));
    const current = tokens.current();
    await vi.advanceTimersByTimeAsync(10_001);
    expect(await current).toBe(lasting(60));
  });

  it('that is fixed in the page is used unchanged', async () => {
    expect(await new TokenSource(undefined, 'given').current()).toBe('given');
    expect(await new TokenSource(undefined, null).renew()).toBeNull();
  });
});
