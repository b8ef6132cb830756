import { createHmac, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importKeys, type KeySettings } from '../../../src/daemon/identity/keys.ts';
import { createValidator } from '../../../src/daemon/identity/validator.ts';
import type { Log } from '../../../src/daemon/log.ts';
import { Secret } from '../../../src/daemon/secret.ts';
import { CLAIMS, encode, frozen, hs256, recordingLog, rs256, rsaPair, SETTINGS } from './make-token.ts';

const { publicKey, privateKey } = rsaPair();
const spki = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const pkcs1 = publicKey.export({ type: 'pkcs1', format: 'pem' }).toString();

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentd-keys-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function verdict(token: string, settings: Partial<KeySettings>): Promise<string> {
  const all = { ...SETTINGS, ...settings };
  const validator = createValidator(all, await importKeys(all), frozen, recordingLog().log as unknown as Log);
  const result = await validator.validate(token);
  return result.valid ? 'valid' : result.reason;
}

const RS256 = { JWT_ALGORITHM: 'RS256', JWT_SECRET_KEY: undefined } as const;

describe('an RS256 key', () => {
  const token = rs256(privateKey);

  it.each([
    ['SPKI', spki],
    ['PKCS#1', pkcs1],
    ['SPKI on one line, with \\n for its line breaks', spki.replaceAll('\n', '\\n')],
  ])('may be %s in JWT_PUBLIC_KEY', async (_form, pem) => {
    expect(await verdict(token, { ...RS256, JWT_PUBLIC_KEY: pem })).toBe('valid');
  });

  it('may be the path of a PEM file', async () => {
    const path = join(folder, 'key.pem');
    await writeFile(path, spki);
    expect(await verdict(token, { ...RS256, JWT_PUBLIC_KEY: path })).toBe('valid');
  });

  it('may be PEM in JWT_SECRET_KEY', async () => {
    expect(await verdict(token, { ...RS256, JWT_SECRET_KEY: new Secret(spki) })).toBe('valid');
  });

  it('may be in a certificate', async () => {
    const keys = await importKeys({ ...SETTINGS, ...RS256, JWT_PUBLIC_KEY: CERTIFICATE });
    expect(new X509Certificate(CERTIFICATE).publicKey.asymmetricKeyType).toBe('rsa');
    expect(await keys.verify({ signed: 'a.b', signature: 'AAAA', kid: undefined })).toBe(false);
  });

  it('does not accept the signature of another key', async () => {
    expect(await verdict(rs256(rsaPair().privateKey), { ...RS256, JWT_PUBLIC_KEY: spki })).toBe(
      'Invalid Signature',
    );
  });

  it.each(['x', 'signature', 'A'.repeat(342)])('does not accept the signature "%s"', async (signature) => {
    const signed = token.slice(0, token.lastIndexOf('.'));
    expect(await verdict(`${signed}.${signature}`, { ...RS256, JWT_PUBLIC_KEY: spki })).toBe(
      'Invalid Signature',
    );
  });

  it('does not accept a signature that differs only in unused bits of its last character', async () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const twin = `${token.slice(0, -1)}${alphabet[alphabet.indexOf(token.at(-1) ?? '') ^ 1]}`;
    expect(await verdict(twin, { ...RS256, JWT_PUBLIC_KEY: spki })).toBe('Invalid Signature');
  });
});

describe('confusion of keys is prevented:', () => {
  it('a token that is signed with the public key as HS256 secret is refused', async () => {
    for (const secret of [spki, spki.trim(), pkcs1]) {
      expect(await verdict(hs256(CLAIMS, { alg: 'HS256' }, secret), { ...RS256, JWT_PUBLIC_KEY: spki })).toBe(
        'Algorithm Not Allowed',
      );
      expect(await verdict(hs256(CLAIMS, { alg: 'RS256' }, secret), { ...RS256, JWT_PUBLIC_KEY: spki })).toBe(
        'Invalid Signature',
      );
    }
  });

  it('a token with an HMAC that names RS256 is refused if HS256 is configured', async () => {
    expect(await verdict(hs256(CLAIMS, { alg: 'RS256' }), {})).toBe('Algorithm Not Allowed');
  });

  it('a key in the header of a token is not trusted', async () => {
    const jwk = { kty: 'oct', k: encode('own') };
    expect(
      await verdict(hs256(CLAIMS, { alg: 'HS256', jwk, jku: 'http://127.0.0.1/', x5c: ['x'] }, 'own'), {}),
    ).toBe('Invalid Signature');
  });

  it('an HMAC with an empty key is not accepted', async () => {
    const signed = hs256().slice(0, hs256().lastIndexOf('.'));
    const mac = createHmac('sha256', '').update(signed).digest('base64url');
    expect(await verdict(`${signed}.${mac}`, {})).toBe('Invalid Signature');
  });

  it.each([
    ['public key', spki],
    ['PKCS#1 public key', pkcs1],
    ['certificate', '-----BEGIN CERTIFICATE-----\n…'],
  ])('a %s as HS256 secret is refused at the start', async (_what, pem) => {
    await expect(importKeys({ ...SETTINGS, JWT_SECRET_KEY: new Secret(pem) })).rejects.toMatchObject({
      name: 'UnusableKey',
      message: 'JWT_SECRET_KEY contains a public key: for HS256 it must be a secret',
    });
  });
});

describe('an unusable key', () => {
  const right =
    'give an RSA public key of 2048 bits or more as PEM (PUBLIC KEY, RSA PUBLIC KEY or CERTIFICATE)';
  const pemOf = (key: { export(options: object): string | Buffer }, type: string) =>
    key.export({ type, format: 'pem' }).toString();
  it.each([
    ['no key at all', RS256, 'JWT_PUBLIC_KEY is not set: RS256 needs it, or JWT_JWKS_URL'],
    ['no secret', { JWT_SECRET_KEY: undefined }, 'JWT_SECRET_KEY is not set: HS256 needs the signing secret'],
    [
      'a short RSA key',
      { ...RS256, JWT_PUBLIC_KEY: pemOf(rsaPair(1024).publicKey, 'spki') },
      `JWT_PUBLIC_KEY contains an RSA key of 1024 bits: ${right}`,
    ],
    [
      'an elliptic curve key',
      {
        ...RS256,
        JWT_PUBLIC_KEY: pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey, 'spki'),
      },
      `JWT_PUBLIC_KEY contains a key of type ec: ${right}`,
    ],
    [
      'an RSA-PSS key',
      {
        ...RS256,
        JWT_PUBLIC_KEY: pemOf(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey, 'spki'),
      },
      `JWT_PUBLIC_KEY contains a key of type rsa-pss: ${right}`,
    ],
    [
      'a private key',
      { ...RS256, JWT_PUBLIC_KEY: pemOf(privateKey, 'pkcs8') },
      `JWT_PUBLIC_KEY contains a private key, which only the issuer may have: ${right}`,
    ],
    [
      'a broken PEM',
      { ...RS256, JWT_PUBLIC_KEY: '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----' },
      `JWT_PUBLIC_KEY contains no readable PEM: ${right}`,
    ],
    [
      'an HS256 secret that was not removed',
      { ...RS256, JWT_SECRET_KEY: new Secret('a-shared-secret') },
      `JWT_SECRET_KEY contains no readable PEM: ${right}`,
    ],
    [
      'a path that does not exist',
      { ...RS256, JWT_PUBLIC_KEY: '/nowhere/key.pem' },
      `JWT_PUBLIC_KEY is not PEM, and as a path it cannot be read (ENOENT): ${right}`,
    ],
  ])('is refused with the setting, the problem and a correct value: %s', async (_what, settings, message) => {
    await expect(importKeys({ ...SETTINGS, ...settings })).rejects.toMatchObject({
      name: 'UnusableKey',
      message,
    });
  });

  it('is accepted if signatures are not checked', async () => {
    const keys = await importKeys({ ...SETTINGS, ...RS256, JWT_VERIFY_SIGNATURE: false });
    expect(keys.verify({ signed: 'a.b', signature: 'c', kid: undefined })).toBe(false);
  });
});

/** A self-signed certificate. Its private key was deleted. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIDFTCCAf2gAwIBAgIUdGLzVCDTwzaYh+gwP2JC4i/OGj0wDQYJKoZIhvcNAQEL
BQAwGTEXMBUGA1UEAwwOaXNzdWVyLmV4YW1wbGUwIBcNMjYxMTIxMDY0NzA3WhgP
MjEyNjEwMjgwNjQ3MDdaMBkxFzAVBgNVBAMMDmlzc3Vlci5leGFtcGxlMIIBIjAN
BgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAtx9ZoSBAGm2D7ImFCFUxKjA8G4vD
9Zx5jkDBNIi/0jJwIRlDnd/TCmOpq9he8E0BUx/zD/z5/96bbhUusL29hJU9HaEn
dV9hZw2PXFdERpFQbDjDjdHJT7B6jGb4WnQwgH8gU3sNGxLEnoXZGD4yu6pKZArW
0rrcIH7dzhELbb+eKLW8Tf+vOt4Kw6CqXlUURtguzLVkwNq4+dHNB4Rsw7zygfsf
KyBClkayLja0RCGHpVBJ6ggP/KjIzl0o5+Z77tB5KZqVoGOAnW+5QuhPggp6vcuB
Cl3ReETr5mwiw8V4DCH3QleQVKGbl6j7w/y40qD3CCZwnaERUyiUBDwFZwIDAQAB
o1MwUTAdBgNVHQ4EFgQU9fULDFaXT5ehEU6ED++VmE6qDz4wHwYDVR0jBBgwFoAU
9fULDFaXT5ehEU6ED++VmE6qDz4wDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0B
AQsFAAOCAQEAkkWSLMv99UwumI6u2qKmP6sVa71Q8G8R2GyJKqCavYyVW4K5djaE
rThwOCCiGzBl/XL+sXdc+1HSIF5XZHUEgnH3vZMkNTKBXp3jJublGPIwicfyk1mf
esJ3X9n6z879P7pzFKGW4FxaQMdLSLzVMwsTm86fhIwLUZCLJw3cCYPdw/Ny+1jR
7TtlICQo4UskN/heA5oy3jGc2QtFOboKrxtWmrwF3RsRPQUvZ2+qdgeiSC/20wQg
JrwmGQOeu77KHqmrm5UijtyThqU1+b1rvMAbbsRVntdZsmcjkyIhBvJ98YqfqFi4
DsbJ2jytYlLBmHUo/d6a0DUKRNJT0c5iuw==
-----END CERTIFICATE-----`;
