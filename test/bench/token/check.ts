import { webcrypto } from 'node:crypto';
import { compactVerify } from 'jose';
import { importKeys } from '../../../src/daemon/identity/keys.ts';
import { createValidator } from '../../../src/daemon/identity/token-checks.ts';
import { createLog } from '../../../src/daemon/process/log.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { SECRET, tokenOf } from '../chat/people.ts';

export interface TokenOrder {
  contender: 'bare' | 'ours';
  warm_up_ms: number;
  measure_ms: number;
}

/** Number of tokens that are checked in turn, so that it is not always the same token. */
const TOKENS = 100;
/** Number of checks between two readings of the clock. */
const BATCH = 50;

/** Answers an order from the parent process with the µs that one check takes. */
process.once('message', async ({ contender, warm_up_ms, measure_ms }: TokenOrder) => {
  const check = contender === 'bare' ? await bareCheck() : await ourCheck();
  await checkFor(warm_up_ms, check);
  process.send?.(await checkFor(measure_ms, check));
  process.disconnect();
});

type Check = (token: string) => Promise<boolean>;

/** The bare limit: only the library's check of the signature, with a key that is imported once. */
async function bareCheck(): Promise<Check> {
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  const key = await webcrypto.subtle.importKey('raw', Buffer.from(SECRET), hmac, false, ['verify']);
  const options = { algorithms: ['HS256'] };
  return async (token) => (await compactVerify(token, key, options)).payload.length > 0;
}

/** All eight checks, with issuer and audience expected. */
async function ourCheck(): Promise<Check> {
  const settings = {
    JWT_ALGORITHM: 'HS256',
    JWT_SECRET_KEY: new Secret(SECRET),
    JWT_PUBLIC_KEY: undefined,
    JWT_JWKS_URL: undefined,
    JWT_VERIFY_SIGNATURE: true,
    JWT_VERIFY_EXP: true,
    JWT_ISSUER: 'https://shop.example.com',
    JWT_AUDIENCE: 'agentd',
    JWT_CLOCK_SKEW_SECONDS: 0,
    JWT_DEBUG: false,
  } as const;
  const log = createLog({ level: 'info', format: 'JSON' });
  const validator = createValidator(settings, await importKeys(settings), systemClock, log);
  return async (token) => (await validator.validate(token)).valid;
}

/** @returns µs per check. */
async function checkFor(ms: number, check: Check): Promise<number> {
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const tokens = Array.from({ length: TOKENS }, (_, person) => tokenOf(person, exp));
  const began = performance.now();
  let checks = 0;
  let took = 0;
  while (took < ms) {
    for (let i = 0; i < BATCH; i++) {
      if (!(await check(tokens[checks++ % TOKENS] ?? ''))) throw new Error('a good token was refused');
    }
    took = performance.now() - began;
  }
  return (took / checks) * 1000;
}
