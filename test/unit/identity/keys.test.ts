import {
  constants,
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  sign,
  X509Certificate,
} from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importKeys, type KeySettings } from '../../../src/daemon/identity/keys.ts';
import { createValidator } from '../../../src/daemon/identity/token-checks.ts';
import type { Log } from '../../../src/daemon/process/log.ts';
import type { ConfigurationError } from '../../../src/daemon/settings/problem.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { CLAIMS, encode, frozen, hs256, recordingLog, rs256, rsaPair, SETTINGS } from './make-token.ts';

const { publicKey, privateKey } = rsaPair();
/** The base64 of a PEM block, on one line. */
const bodyOf = (pem: string) => pem.replace(/-----.*-----|\s/g, '');
const spki = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const pkcs1 = publicKey.export({ type: 'pkcs1', format: 'pem' }).toString();

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

/** Two self-signed certificates of one key, under different names. Its private key was deleted. */
const RENAMED = [
  `-----BEGIN CERTIFICATE-----
MIIDBTCCAe2gAwIBAgIUVsIP9W6PApVg3g4F05QWvpfOJIwwDQYJKoZIhvcNAQEL
BQAwETEPMA0GA1UEAwwGYmVmb3JlMCAXDTI2MTIwMTA4MDY0MFoYDzIxMjYxMTA3
MDgwNjQwWjARMQ8wDQYDVQQDDAZiZWZvcmUwggEiMA0GCSqGSIb3DQEBAQUAA4IB
DwAwggEKAoIBAQDc9ABjRb3Vz+VjMODu82Xxxzge0xFOIUsLRewyXS8iwKkgkTmq
O5RIdLPbF1AsCMYJG13DNw4GaGI/oyM5pRCHNw6B+NVrug1+Ex12aki8hliVC2Wa
Wdo4U9O2qOBP3SwFqma5FafHWSiLOpzwCVr3bOkUqvunjLjYdnwQIcC5APpQstK3
olehLX0jC5BrcKZCctUHvTKlDBfeqZ0bCW3/kxVjrZp9HHUUgW5Yy8pxN4GuaEId
ch3E6xnobBoQ9zLfkaXkygTSwxgUulJDZwcJ3EBPnT+1caDVAxVujOiKqGUKHwIX
DoRqjFtSplsdH+Y5tJjooZRE5/oU/bqahdGrAgMBAAGjUzBRMB0GA1UdDgQWBBSE
YHf/X3ZwbvuKdmo9qcyPlkdSCjAfBgNVHSMEGDAWgBSEYHf/X3ZwbvuKdmo9qcyP
lkdSCjAPBgNVHRMBAf8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQCsHwXP52kv
HGDGdX4Z87NFiARNcAFgcmWBT8X8YRPSpwlQaJF24mDNiUZ9pAb84h9cBj+3O1hu
O2YnYoUFQcjpBVvhtu+UaPXGtZVCDe8ZX2QzMal3e2oRcMGEyc80Y5R0sJlT/Qro
qWvqzusRJ915BwKddx2DTBcEOF7p1HloBj0kFSzHXANIg5Ftn1PCCM85LSv4U71p
DkarwMGV7Dc4POUocJmnZTjlmyKsXwWexSiYElake/To8PzBL+w9SIRoZ7kppg7i
2ciMSE7+8Mb4kunuOIrTCe8xCpXH+hcmlQ/kgksehAaCT/8ZrPFmqARp4JoRcUtR
0ow+DpEyNsNc
-----END CERTIFICATE-----`,
  `-----BEGIN CERTIFICATE-----
MIIDAzCCAeugAwIBAgIUEpuzaJYCUxFcUmwMH9uSFFMzpS0wDQYJKoZIhvcNAQEL
BQAwEDEOMAwGA1UEAwwFYWZ0ZXIwIBcNMjYxMjAxMDgwNjQwWhgPMjEyNjExMDcw
ODA2NDBaMBAxDjAMBgNVBAMMBWFmdGVyMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A
MIIBCgKCAQEA3PQAY0W91c/lYzDg7vNl8cc4HtMRTiFLC0XsMl0vIsCpIJE5qjuU
SHSz2xdQLAjGCRtdwzcOBmhiP6MjOaUQhzcOgfjVa7oNfhMddmpIvIZYlQtlmlna
OFPTtqjgT90sBapmuRWnx1koizqc8Ala92zpFKr7p4y42HZ8ECHAuQD6ULLSt6JX
oS19IwuQa3CmQnLVB70ypQwX3qmdGwlt/5MVY62afRx1FIFuWMvKcTeBrmhCHXId
xOsZ6GwaEPcy35Gl5MoE0sMYFLpSQ2cHCdxAT50/tXGg1QMVbozoiqhlCh8CFw6E
aoxbUqZbHR/mObSY6KGUROf6FP26moXRqwIDAQABo1MwUTAdBgNVHQ4EFgQUhGB3
/192cG77inZqPanMj5ZHUgowHwYDVR0jBBgwFoAUhGB3/192cG77inZqPanMj5ZH
UgowDwYDVR0TAQH/BAUwAwEB/zANBgkqhkiG9w0BAQsFAAOCAQEAhYQE7s730UKL
Ldk16GgvRu8it9m3SLvJiSX8x2XK2dzjzScPaPIkTlL91exoimjhTxGSkDVdXIq3
tnvhRKR+ISNN4CYXl8W8aoJNBXxBECypjbpLCjDgS4gjSnjrCzTVaZdRPzUAfmDm
b5QzD4O8OG6p8y1Ljfm8p3YIwQKo/INT3NTcHBH33+b30KVgZIKatFvtxAHvvfwo
qFnrlQIQfYWc56DCfBMKap+u4WjkDVkSYUUQ6qVYkDSLG0JUWHaY54240DZU67/h
IEz9eBRM+gLi+CD3hzoRBAhSiFA1V3xA+S22YtNbl6tiLJMQlw5/ddT3ovrzf2VK
hf6ulmq9Bw==
-----END CERTIFICATE-----`,
];

/** The certificate of an authority, and one that it issued. Their private keys were deleted. */
const AUTHORITY = `-----BEGIN CERTIFICATE-----
MIIDGzCCAgOgAwIBAgIUW3K+BOtOQoJnfqDyi+tJjbhLnuUwDQYJKoZIhvcNAQEL
BQAwHDEaMBgGA1UEAwwRYXV0aG9yaXR5LmV4YW1wbGUwIBcNMjYxMTI0MTMzNTM4
WhgPMjEyNjEwMzExMzM1MzhaMBwxGjAYBgNVBAMMEWF1dGhvcml0eS5leGFtcGxl
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAoE/BphLaXRV7b2aj6RKQ
1mUxfh7CeQjXHeV+g6AnMc/A+/9DY3yEcmHMxLUe6gARa7moztu6mTDNVAa5Ft/Y
+GGrxkvZeICNl0X/Dme4TImj9ZvJmC61fHtSgc+KzOmrHvC/pXi0NFqycqE3b+Mk
NvtkfxGAaCO+etmHR9VEA9oHKBz7CPs0KBfa5Q+a+vvpNXPF4Xk8G8Kdvoo5XIoY
YNBRpuy3qP0tcjXv/r8Y17asd+uHpZ8Zu5Me5wOUtug3VaLTA2Ru3AlPctMRH0gu
L01wLAO9xKOZ2oJD7kZcIB9baNBRM9MXYhVKyjH9k21QWEs46eOfHI1EdjKr5tct
ywIDAQABo1MwUTAdBgNVHQ4EFgQUXwFWiip8WGGdOGDC8NDPou2XZEQwHwYDVR0j
BBgwFoAUXwFWiip8WGGdOGDC8NDPou2XZEQwDwYDVR0TAQH/BAUwAwEB/zANBgkq
hkiG9w0BAQsFAAOCAQEAgN9FS4YdyoAGd4W+svYmvFpNue9Rz5Umnc7zpoMVlid7
306UJMlqsXcTHJy0XzCIxIxN8Y/4v+8CvY8T9DEgRKyxQvwh33EuapBA3VEthjZX
nktqDUg1J9RI712KniuqdgK2gePfomjbZtCPiExoCwzjNFc8XqRF+o284wduEFy+
9R44uMSebgkzwU7LkaWe/9u3uLJXW8ut+bInZ4aotsph8rwceCyQ/bLuTvwDFuLQ
dOdvkLC4E8ZXW4ngiUgAvoiGmoVojOmvvk/z0e3nhO9Z/u2W7XNjwZFMDcqBX6D3
cw4kTsYuISry6Z9CAmmD+zXp8f+An/d6Jt/fHxsxmQ==
-----END CERTIFICATE-----`;
const LEAF = `-----BEGIN CERTIFICATE-----
MIICvjCCAaYCFC6p1/TbvuBckRpPx2mK4f7Lzl1yMA0GCSqGSIb3DQEBCwUAMBwx
GjAYBgNVBAMMEWF1dGhvcml0eS5leGFtcGxlMCAXDTI2MTEyNDEzMzUzOVoYDzIx
MjYxMDMxMTMzNTM5WjAZMRcwFQYDVQQDDA5pc3N1ZXIuZXhhbXBsZTCCASIwDQYJ
KoZIhvcNAQEBBQADggEPADCCAQoCggEBAOe4c9FPcoitPo2lCQ8/XZuyeEbsiMBw
HdZV2iKDS5bCMFtUDIavTY9sOKsgpnROZEH2ZxjbkQc7nFauwM+sm20HMZiGwli9
O/MQGcWiHkZnY/+5nKfIapbjjFIAtct2nEsrSbgRLaVMBDafR2t2jYno+rH7zc9v
8DTr0ILfbxpqPDyfmDJWXhZnWXr57Jjw6nbBMBVG2FvTzFPQAmJI473udwYMa+dI
5xXHd3sHWmhiDA374G4r/sMI2lZeM/XQkIqzOUVmvEHxIRwumNOsbHAm6kKaD695
7h3C0PiqeQZbKvEahHSfIiMJbEkIkx3jbYrWYG/KVHhpKrsqkjksCR0CAwEAATAN
BgkqhkiG9w0BAQsFAAOCAQEAeXrtJzTgRd4Tg20R9sXmd/bxRF9s7fJ4UT1nNUFp
9pLfV3ovizEp59+bTQ0KnbfOUzvnYdkq7i9RmcG6Fsv98GwfZ18bsXeIAPx961+R
uQJhTzLLcOWRboeIBWhLDDtMd+dgKJYL8b32rGcWwbIgfQsw3Qd77WCq0NQWgnG+
hmlVCZL+rXY7h93/b3qQDr3Wm4n+YSgdI+prGCmr0uWbbQSqwJL5N9R0RS6Pf5qU
1ygdBZm6tB6aKMY1Jn3zuihBDSDkC7389yHHpfqD11S80oOpvJL/7cpOBtBMcsts
MStyxZPiFekhbwuNf2l321XA7f88J/RAxH0tJEbH6eWlRQ==
-----END CERTIFICATE-----`;

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
    expect(await verdict(rs256(rsaPair('third').privateKey), { ...RS256, JWT_PUBLIC_KEY: spki })).toBe(
      'Invalid Signature',
    );
  });

  it('does not accept a signature of another algorithm, whatever earlier checks let through', async () => {
    const signed = `${encode({ alg: 'PS256' })}.${encode(CLAIMS)}`;
    const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
    const signature = sign('RSA-SHA256', Buffer.from(signed), { key: privateKey, ...padding });
    const keys = await importKeys({ ...SETTINGS, ...RS256, JWT_PUBLIC_KEY: spki });
    expect(await keys.verify({ signed, signature: signature.toString('base64url'), kid: undefined })).toBe(
      false,
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

describe('several keys', () => {
  const [old, next] = ['the-old-secret-of-at-least-256-bits-', 'the-next-secret-of-at-least-256-bits'];
  const other = rsaPair('second');
  const otherSpki = other.publicKey.export({ type: 'spki', format: 'pem' }).toString();

  async function keyOf(token: string, settings: Partial<KeySettings>) {
    const all = { ...SETTINGS, ...settings };
    const log = recordingLog().log as unknown as Log;
    const result = await createValidator(all, await importKeys(all), frozen, log).validate(token);
    return result.valid ? result.key : result.reason;
  }
  const signedWith = (secret: string) => hs256(CLAIMS, { alg: 'HS256' }, secret);

  it.each([
    ['one per line', `${next}\n${old}`],
    ['with the line breaks of Windows, and blank lines', `\r\n${next}\r\n \r\n${old}\r\n`],
  ])('of HS256: any that fits validates, and its position is told, %s', async (_how, text) => {
    const settings = { JWT_SECRET_KEY: new Secret(text) };
    expect(await keyOf(signedWith(next), settings)).toBe(1);
    expect(await keyOf(signedWith(old), settings)).toBe(2);
    for (const wrong of ['another', text, `${next}\n`, '']) {
      expect(await keyOf(signedWith(wrong || ' '), settings)).toBe('Invalid Signature');
    }
  });

  it('a single secret is used unchanged, spaces included, without a position', async () => {
    for (const secret of [` ${old}\t`, '# a secret', `${old}\\n`]) {
      expect(await keyOf(signedWith(secret), { JWT_SECRET_KEY: new Secret(secret) })).toBeUndefined();
    }
  });

  it('a PEM block of several lines is one HS256 secret, and no line of it is a secret by itself', async () => {
    const pem = `-----BEGIN OPAQUE-----\n${old}\n-----END OPAQUE-----`;
    const settings = { JWT_SECRET_KEY: new Secret(`${next}\n${pem}`) };
    expect(await keyOf(signedWith(pem), settings)).toBe(2);
    for (const line of pem.split('\n'))
      expect(await keyOf(signedWith(line), settings)).toBe('Invalid Signature');
  });

  it.each([
    ['PEM blocks, one after another', `${spki}${otherSpki}`],
    ['with a blank line between', `${spki}\n\n${otherSpki}`],
    ['on one line each', `${spki.replaceAll('\n', '\\n')}\n${otherSpki.replaceAll('\n', '\\n')}`],
    ['on one line together', `${spki}${otherSpki}`.replaceAll('\n', '\\n')],
  ])('of RS256: any that fits validates: %s', async (_how, text) => {
    const inSecret = { ...RS256, JWT_SECRET_KEY: new Secret(text) };
    for (const settings of [{ ...RS256, JWT_PUBLIC_KEY: text }, inSecret]) {
      expect(await keyOf(rs256(privateKey), settings)).toBe(1);
      expect(await keyOf(rs256(other.privateKey), settings)).toBe(2);
      expect(await keyOf(rs256(rsaPair('third').privateKey), settings)).toBe('Invalid Signature');
    }
  });

  it('of RS256 may be paths and PEM blocks in any order; a file may hold several blocks and other text', async () => {
    const third = rsaPair('third');
    const path = join(folder, 'several.pem');
    const comments = Array.from({ length: 20 }, (_, at) => `comment ${at}`).join('\n');
    const thirdSpki = third.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    await writeFile(path, `${comments}\n${otherSpki}issued by us\n${thirdSpki}`);
    const settings = { ...RS256, JWT_PUBLIC_KEY: `${spki}\n${path}\n` };
    expect(await keyOf(rs256(privateKey), settings)).toBe(1);
    expect(await keyOf(rs256(other.privateKey), settings)).toBe(2);
    expect(await keyOf(rs256(third.privateKey), settings)).toBe(3);
  });

  it('are each tried at most once', async () => {
    const keys = await importKeys({ ...SETTINGS, JWT_SECRET_KEY: new Secret(`${next}\n${old}`) });
    const reads = { signed: 0, signature: 0 };
    const [header, payload, signature] = signedWith('another').split('.');
    const fit = await keys.verify({
      get signed() {
        reads.signed++;
        return `${header}.${payload}`;
      },
      get signature() {
        reads.signature++;
        return signature ?? '';
      },
      kid: 'x',
    });
    expect([fit, reads]).toEqual([false, { signed: 2, signature: 2 }]);
  });

  it.each<[string, Partial<KeySettings>, string]>([
    [
      'a public key as one of the HS256 secrets',
      { JWT_SECRET_KEY: new Secret(`${next}\n${spki}`) },
      'is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
    ],
    [
      'an SSH key as one of the HS256 secrets',
      { JWT_SECRET_KEY: new Secret(`${next}\nssh-rsa AAAAB3NzaC1yc2E me@here`) },
      'is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
    ],
    [
      'the body of a public key without its PEM lines, as Keycloak shows it',
      { JWT_SECRET_KEY: new Secret(bodyOf(spki)) },
      'is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
    ],
    [
      'the lines of such a body beside a secret',
      { JWT_SECRET_KEY: new Secret(`${next}\n${bodyOf(spki).replace(/.{64}/g, '$&\n')}`) },
      'is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
    ],
    [
      'a public key as a JWK',
      { JWT_SECRET_KEY: new Secret(JSON.stringify(createPublicKey(spki).export({ format: 'jwk' }))) },
      'is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
    ],
    [
      'another SSH key',
      { JWT_SECRET_KEY: new Secret('ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI') },
      'is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
    ],
    [
      'the first line of a PEM block without its last line',
      { JWT_SECRET_KEY: new Secret(`-----BEGIN PRIVATE KEY-----\n${old}`) },
      'has a line that begins or ends a PEM block, which would be a secret that anybody knows',
    ],
    [
      'a comment among secrets',
      { JWT_SECRET_KEY: new Secret(`${next}\n# until December`) },
      'has a line that begins with `# `, which would be a secret',
    ],
    [
      'nine secrets',
      { JWT_SECRET_KEY: new Secret(Array.from({ length: 9 }, (_, at) => `${old}${at}`).join('\n')) },
      'has 9 keys',
    ],
    ['nine public keys', { ...RS256, JWT_PUBLIC_KEY: spki.repeat(9) }, 'has 9 keys'],
    [
      'a private key after a public one',
      { ...RS256, JWT_PUBLIC_KEY: `${spki}${privateKey.export({ type: 'pkcs8', format: 'pem' })}` },
      'contains a private key, which only the issuer may have',
    ],
    [
      'a short key after a long one',
      {
        ...RS256,
        JWT_PUBLIC_KEY: `${spki}${rsaPair('short', 1024).publicKey.export({ type: 'spki', format: 'pem' })}`,
      },
      'contains an RSA key of 1024 bits',
    ],
    [
      'a path that does not exist after a PEM block',
      { ...RS256, JWT_PUBLIC_KEY: `${spki}/nowhere/key.pem` },
      'is not PEM, and as a path it cannot be read (ENOENT)',
    ],
    [
      'a certificate with that of its authority, whose key would sign tokens, too',
      { ...RS256, JWT_PUBLIC_KEY: `${LEAF}\n${AUTHORITY}` },
      'contains a certificate and the certificate of its authority',
    ],
  ])('are refused at the start: %s', async (_what, settings, problem) => {
    await expect(importKeys({ ...SETTINGS, ...settings })).rejects.toMatchObject({
      problems: [{ problem }],
    });
  });

  it.each([
    ['two keys', [CERTIFICATE, AUTHORITY]],
    ['one key under two names', RENAMED],
  ])('may be two certificates of which none issued the other: %s', async (_what, pems) => {
    const { verify } = await importKeys({ ...SETTINGS, ...RS256, JWT_PUBLIC_KEY: pems.join('\n') });
    expect(await verify({ signed: 'a.b', signature: 'AAAA', kid: undefined })).toBe(false);
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
      problems: [
        {
          problem:
            'is a public key, but JWT_ALGORITHM is HS256: anybody who has the public key could sign tokens',
        },
      ],
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
      { ...RS256, JWT_PUBLIC_KEY: pemOf(rsaPair('short', 1024).publicKey, 'spki') },
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
      `JWT_SECRET_KEY contains no readable PEM: ${right}; or remove it, and set JWT_PUBLIC_KEY or JWT_JWKS_URL`,
    ],
    [
      'a path that does not exist',
      { ...RS256, JWT_PUBLIC_KEY: '/nowhere/key.pem' },
      `JWT_PUBLIC_KEY is not PEM, and as a path it cannot be read (ENOENT): ${right}`,
    ],
    [
      'a file without PEM',
      { ...RS256, JWT_PUBLIC_KEY: '/dev/null' },
      `JWT_PUBLIC_KEY contains no readable PEM: ${right}`,
    ],
  ])('is refused with the setting, the problem and a correct value: %s', async (_what, settings, words) => {
    const refused = await importKeys({ ...SETTINGS, ...settings }).catch((error: ConfigurationError) =>
      error.problems.map((one) => `${one.setting} ${one.problem}: ${one.right}`),
    );
    expect(refused).toEqual([words]);
  });

  it('is accepted if signatures are not checked', async () => {
    const keys = await importKeys({ ...SETTINGS, ...RS256, JWT_VERIFY_SIGNATURE: false });
    expect(keys.verify({ signed: 'a.b', signature: 'c', kid: undefined })).toBe(false);
  });
});
