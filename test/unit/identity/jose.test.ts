import type { KeyObject } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createKeySet } from '../../../src/daemon/identity/jose.ts';
import type { VerificationKeys } from '../../../src/daemon/identity/keys.ts';
import { createValidator } from '../../../src/daemon/identity/token-checks.ts';
import type { Log } from '../../../src/daemon/process/log.ts';
import { listenOnFreePort } from '../../support/free-ports.ts';
import { CLAIMS, hs256, NOW, recordingLog, rs256, rsaPair, SETTINGS } from './make-token.ts';

const one = rsaPair();
const two = rsaPair('second');
const SECOND = 1000;
const MINUTE = 60_000;
/** A timeout that is long enough even on a busy machine. */
const PATIENTLY = { timeout: 60_000 };

/** A local issuer that counts requests for its keys, and gives the answers that a test has set. */
let server: Server;
let fetches = 0;
let answer: (response: ServerResponse, path: string) => void;
let url: URL;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW });
  fetches = 0;
  server = createServer((request, response) => {
    fetches += 1;
    answer(response, request.url ?? '');
  });
  url = new URL(`http://127.0.0.1:${await listenOnFreePort(server)}/keys`);
});

afterEach(async () => {
  vi.useRealTimers();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

function jwk(key: KeyObject, more: object = {}) {
  return { ...key.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', ...more };
}

function publish(...keys: object[]): void {
  answer = (response) => response.end(JSON.stringify({ keys }));
}

function ask(keys: VerificationKeys, key: KeyObject, header: object = {}) {
  const { log, lines } = recordingLog();
  const settings = { ...SETTINGS, JWT_ALGORITHM: 'RS256' as const };
  const validator = createValidator(settings, keys, { now: () => NOW }, log as unknown as Log);
  return validator
    .validate(rs256(key, CLAIMS, { alg: 'RS256', ...header }))
    .then((verdict) => ({ said: verdict.valid ? 'valid' : verdict.reason, lines }));
}

describe('a key set', () => {
  it('is fetched when the first token needs it, and then kept', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const keys = createKeySet(url);
    expect(fetches).toBe(0);
    for (let times = 0; times < 3; times++)
      expect(await ask(keys, one.privateKey, { kid: '1' })).toMatchObject({ said: 'valid' });
    expect(fetches).toBe(1);
  });

  it('is fetched once for many simultaneous tokens', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const keys = createKeySet(url);
    const all = await Promise.all(Array.from({ length: 10 }, () => ask(keys, one.privateKey, { kid: '1' })));
    expect(all.every(({ said }) => said === 'valid')).toBe(true);
    expect(fetches).toBe(1);
  });

  it('is fetched again at once for a new key', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const keys = createKeySet(url);
    await ask(keys, one.privateKey, { kid: '1' });
    expect(await ask(keys, two.privateKey, { kid: '2' })).toMatchObject({ said: 'Invalid Signature' });
    publish(jwk(one.publicKey, { kid: '1' }), jwk(two.publicKey, { kid: '2' }));
    expect(await ask(keys, two.privateKey, { kid: '2' })).toMatchObject({ said: 'valid' });
    expect(fetches).toBe(3);
  });

  it('is fetched again only once for many tokens with the same new key', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const keys = createKeySet(url);
    await ask(keys, one.privateKey, { kid: '1' });
    publish(jwk(two.publicKey, { kid: '2' }));
    const all = await Promise.all(Array.from({ length: 20 }, () => ask(keys, two.privateKey, { kid: '2' })));
    expect(all.every(({ said }) => said === 'valid')).toBe(true);
    expect(fetches).toBe(2);
  });

  it('is fetched again at most five times a minute for tokens with an unknown key', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const keys = createKeySet(url);
    const unknown = () => ask(keys, two.privateKey, { kid: '2' });
    await ask(keys, one.privateKey, { kid: '1' });
    for (let times = 0; times < 20; times++)
      expect(await unknown()).toMatchObject({ said: 'Invalid Signature' });
    expect(fetches).toBe(6);

    publish(jwk(one.publicKey, { kid: '1' }), jwk(two.publicKey, { kid: '2' }));
    vi.setSystemTime(NOW + MINUTE - 1);
    expect(await unknown()).toMatchObject({ said: 'Invalid Signature' });
    vi.setSystemTime(NOW + MINUTE);
    expect(await unknown()).toMatchObject({ said: 'valid' });
    expect(fetches).toBe(7);
  });

  it('is fetched again after ten minutes, so that a withdrawn key is no longer accepted', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const keys = createKeySet(url);
    await ask(keys, one.privateKey, { kid: '1' });
    publish(jwk(two.publicKey, { kid: '2' }));
    vi.setSystemTime(NOW + 10 * MINUTE);
    await ask(keys, one.privateKey, { kid: '1' });
    await vi.waitFor(async () => {
      expect(await ask(keys, one.privateKey, { kid: '1' })).toMatchObject({ said: 'Invalid Signature' });
    }, PATIENTLY);
    expect(await ask(keys, two.privateKey, { kid: '2' })).toMatchObject({ said: 'valid' });
    // The keys were fetched for the first token, then because of their age, and then for the key that is no longer
    // published.
    expect(fetches).toBe(3);
  });

  it('stays in use, with a warning, for an hour at most if it cannot be fetched again', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const { log, lines } = recordingLog();
    const keys = createKeySet(url, log as unknown as Log);
    await ask(keys, one.privateKey, { kid: '1' });
    answer = (response) => response.writeHead(503).end();

    vi.setSystemTime(NOW + 11 * MINUTE);
    expect(await ask(keys, one.privateKey, { kid: '1' })).toMatchObject({ said: 'valid' });
    await vi.waitFor(() => expect(lines).toHaveLength(1), PATIENTLY);
    expect(lines[0]?.message).toBe('the key set could not be renewed; the last key set stays in use');
    expect(await ask(keys, one.privateKey, { kid: '1' })).toMatchObject({ said: 'valid' });

    vi.setSystemTime(NOW + 61 * MINUTE);
    expect(await ask(keys, one.privateKey, { kid: '1' })).toMatchObject({ said: 'Invalid Signature' });
    // The next attempt to renew it waits a few seconds, so that the log is not flooded.
    expect(lines).toHaveLength(1);
  });

  it('is searched for all suitable keys if a token has no kid', async () => {
    publish(jwk(one.publicKey, { kid: '1' }), jwk(two.publicKey, { kid: '2' }));
    const keys = createKeySet(url);
    expect(await ask(keys, one.privateKey)).toMatchObject({ said: 'valid' });
    expect(await ask(keys, two.privateKey)).toMatchObject({ said: 'valid' });
    expect(await ask(keys, rsaPair('third').privateKey)).toMatchObject({ said: 'Invalid Signature' });
  });

  it.each([
    ['for another algorithm', { alg: 'RS512' }],
    ['for encryption', { use: 'enc' }],
    ['not meant for verification', { key_ops: ['encrypt'], use: undefined }],
  ])('does not use a key that is %s', async (_what, more) => {
    publish(jwk(one.publicKey, { kid: '1', ...more }));
    expect(await ask(createKeySet(url), one.privateKey, { kid: '1' })).toMatchObject({
      said: 'Invalid Signature',
    });
  });

  it('does not use an RSA key that is too short', async () => {
    const short = rsaPair('short', 1024);
    publish(jwk(short.publicKey, { kid: '1' }), jwk(one.publicKey, { kid: '2' }));
    const keys = createKeySet(url);
    expect(await ask(keys, short.privateKey, { kid: '1' })).toMatchObject({ said: 'Invalid Signature' });
    // Nor does the short key keep a token without `kid` from being checked with the others.
    expect(await ask(keys, one.privateKey)).toMatchObject({ said: 'valid' });
  });

  it('does not accept an HMAC that was made with its public data', async () => {
    publish(jwk(one.publicKey, { kid: '1' }), { kty: 'oct', k: 'c2VjcmV0', kid: 'mac' });
    const keys = createKeySet(url);
    const settings = { ...SETTINGS, JWT_ALGORITHM: 'RS256' as const };
    const validator = createValidator(
      settings,
      keys,
      { now: () => NOW },
      recordingLog().log as unknown as Log,
    );
    const n = String(one.publicKey.export({ format: 'jwk' }).n);
    for (const alg of ['HS256', 'RS256']) {
      expect((await validator.validate(hs256(CLAIMS, { alg, kid: 'mac' }, 'secret'))).valid).toBe(false);
      expect((await validator.validate(hs256(CLAIMS, { alg, kid: '1' }, n))).valid).toBe(false);
    }
  });
});

describe('a key set, for logout tokens', () => {
  const sign = (key: KeyObject, kid: string) => {
    const [header, payload, signature = ''] = rs256(key, CLAIMS, { alg: 'RS256', kid }).split('.');
    return { signed: `${header}.${payload}`, signature, kid, isLogout: true };
  };

  it('is fetched at most once a minute because of unknown keys, also together with user tokens', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const keys = createKeySet(url);
    expect(await keys.verify({ ...sign(one.privateKey, '1'), isLogout: false })).toBe(true);
    for (let n = 0; n < 9; n++) expect(await keys.verify(sign(two.privateKey, `${n + 2}`))).toBe(false);
    vi.setSystemTime(NOW + MINUTE - 1);
    publish(jwk(two.publicKey, { kid: '2' }));
    expect(await keys.verify(sign(two.privateKey, '2'))).toBe(false);
    expect(fetches).toBe(1);
    vi.setSystemTime(NOW + MINUTE);
    expect(await keys.verify(sign(two.privateKey, '2'))).toBe(true);
    expect(await keys.verify(sign(two.privateKey, '3'))).toBe(false);
    expect(fetches).toBe(2);
    // A user token has its own share.
    expect(await keys.verify({ ...sign(two.privateKey, '3'), isLogout: false })).toBe(false);
    expect(fetches).toBe(3);
  });

  it('is fetched at most once a minute while it cannot be reached', async () => {
    answer = (response) => response.writeHead(500).end();
    const keys = createKeySet(url);
    for (let n = 0; n < 5; n++)
      await expect(keys.verify(sign(one.privateKey, '1'))).rejects.toThrow('cannot be reached');
    expect(fetches).toBe(1);
    vi.setSystemTime(NOW + MINUTE);
    publish(jwk(one.publicKey, { kid: '1' }));
    expect(await keys.verify(sign(one.privateKey, '1'))).toBe(true);
    // Whether a key is newer than the last set is not known either.
    answer = (response) => response.writeHead(500).end();
    vi.setSystemTime(NOW + 2 * MINUTE);
    await expect(keys.verify(sign(two.privateKey, '2'))).rejects.toThrow('cannot be reached');
  });

  it('is fetched once for tokens that arrive together', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const keys = createKeySet(url);
    const token = sign(one.privateKey, '1');
    expect(await Promise.all([keys.verify(token), keys.verify(token)])).toEqual([true, true]);
    expect(fetches).toBe(1);
  });
});

describe('a key set that cannot be fetched', () => {
  const broken: [what: string, answer: typeof answer, cause: string][] = [
    ['answers 500', (response) => response.writeHead(500).end(), 'Expected status 200, got 500.'],
    [
      'redirects, even on its own origin',
      (response, path) => {
        if (path === '/keys') response.writeHead(302, { location: '/moved' }).end();
        else response.end(JSON.stringify({ keys: [jwk(one.publicKey, { kid: '1' })] }));
      },
      'Expected status 200, got 302.',
    ],
    [
      'sends an endless answer',
      (response) => response.end(JSON.stringify({ keys: [], more: 'x'.repeat(300_000) })),
      'Expected at most 262144 characters.',
    ],
    [
      'does not answer with JSON',
      (response) => response.end('<html>'),
      'Failed to parse the JSON Web Key Set HTTP response as JSON',
    ],
    [
      'does not answer with a key set',
      (response) => response.end('{"keys":"none"}'),
      'JSON Web Key Set malformed',
    ],
  ];
  it.each(broken)(
    'causes Invalid Signature, with the cause in the warning, if its server %s',
    async (_what, given, cause) => {
      answer = given;
      const { said, lines } = await ask(createKeySet(url), one.privateKey, { kid: '1' });
      expect(said).toBe('Invalid Signature');
      expect(lines).toMatchObject([
        {
          level: 'warn',
          fields: { err: { name: 'KeySetUnreachable', cause: { message: cause } } },
          message: 'token refused: Invalid Signature',
        },
      ]);
    },
  );

  it('causes Invalid Signature if no server listens', async () => {
    await new Promise((closed) => server.close(closed));
    const { said, lines } = await ask(createKeySet(url), one.privateKey, { kid: '1' });
    expect(said).toBe('Invalid Signature');
    expect(lines).toMatchObject([
      { fields: { err: { message: 'The key set at JWT_JWKS_URL cannot be reached.' } } },
    ]);
  });

  it('is requested again only after a wait that is as long as the failed request took', async () => {
    answer = (response) => {
      vi.setSystemTime(NOW + 3 * SECOND);
      response.writeHead(500).end();
    };
    const keys = createKeySet(url);
    for (let times = 0; times < 5; times++) await ask(keys, one.privateKey, { kid: '1' });
    expect(fetches).toBe(1);

    publish(jwk(one.publicKey, { kid: '1' }));
    vi.setSystemTime(NOW + 6 * SECOND - 1);
    expect(await ask(keys, one.privateKey, { kid: '1' })).toMatchObject({ said: 'Invalid Signature' });
    vi.setSystemTime(NOW + 6 * SECOND);
    expect(await ask(keys, one.privateKey, { kid: '1' })).toMatchObject({ said: 'valid' });
    expect(fetches).toBe(2);
  });
});

describe('a clock that was set back by an hour', () => {
  const HOUR = 60 * MINUTE;

  it('does not delay the fetching of a new key', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const keys = createKeySet(url);
    await ask(keys, one.privateKey, { kid: '1' });
    for (let times = 0; times < 5; times++) await ask(keys, two.privateKey, { kid: '2' });
    publish(jwk(one.publicKey, { kid: '1' }), jwk(two.publicKey, { kid: '2' }));
    vi.setSystemTime(NOW - HOUR);
    expect(await ask(keys, two.privateKey, { kid: '2' })).toMatchObject({ said: 'valid' });
  });

  it('does not delay the fetching of a new key after failures', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const keys = createKeySet(url);
    await ask(keys, one.privateKey, { kid: '1' });
    answer = (response) => response.writeHead(500).end();
    vi.setSystemTime(NOW + 9 * MINUTE);
    for (let times = 0; times < 5; times++) await ask(keys, two.privateKey, { kid: '2' });
    publish(jwk(one.publicKey, { kid: '1' }), jwk(two.publicKey, { kid: '2' }));
    vi.setSystemTime(NOW + MINUTE);
    expect(await ask(keys, two.privateKey, { kid: '2' })).toMatchObject({ said: 'valid' });
  });

  it('does not delay the next request after a failed request', async () => {
    answer = (response) => {
      vi.setSystemTime(NOW + 3 * SECOND);
      response.writeHead(500).end();
    };
    const keys = createKeySet(url);
    await ask(keys, one.privateKey, { kid: '1' });
    publish(jwk(one.publicKey, { kid: '1' }));
    vi.setSystemTime(NOW - HOUR);
    expect(await ask(keys, one.privateKey, { kid: '1' })).toMatchObject({ said: 'valid' });
  });

  it('does not keep a withdrawn key in use', async () => {
    publish(jwk(one.publicKey, { kid: '1' }));
    const keys = createKeySet(url);
    await ask(keys, one.privateKey, { kid: '1' });
    publish(jwk(two.publicKey, { kid: '2' }));
    vi.setSystemTime(NOW - HOUR);
    await ask(keys, one.privateKey, { kid: '1' });
    await vi.waitFor(async () => {
      expect(await ask(keys, one.privateKey, { kid: '1' })).toMatchObject({ said: 'Invalid Signature' });
    }, PATIENTLY);
  });
});
