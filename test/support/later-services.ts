import type { ChannelPlugin } from '../../src/channel/index.ts';
import type { Clock } from '../../src/daemon/clock.ts';
import { importKeys } from '../../src/daemon/identity/keys.ts';
import { createSeal } from '../../src/daemon/identity/seal.ts';
import { createValidator } from '../../src/daemon/identity/validator.ts';
import { Secret } from '../../src/daemon/secret.ts';
import type { Services } from '../../src/daemon/services.ts';
import type { Store } from '../../src/daemon/store/store.ts';
import { SECRET } from './daemon.ts';
import { collectLog, type LogLine } from './log-lines.ts';

/** What the inbox and the links need of a services; a test that meets anything else fails with a TypeError. */
export async function laterServices(
  store: Store,
  clock: Clock,
  sealKey?: string,
): Promise<{ services: Services; lines: LogLine[] }> {
  const { log, lines } = collectLog();
  const tokenSettings = {
    JWT_SECRET_KEY: new Secret(SECRET),
    JWT_ALGORITHM: 'HS256' as const,
    JWT_PUBLIC_KEY: undefined,
    JWT_JWKS_URL: undefined,
    JWT_VERIFY_SIGNATURE: true,
    JWT_VERIFY_EXP: true,
    JWT_ISSUER: undefined,
    JWT_AUDIENCE: undefined,
    JWT_CLOCK_SKEW_SECONDS: 0,
    JWT_DEBUG: false,
  };
  const keys = await importKeys(tokenSettings);
  const parts = {
    settings: { ...tokenSettings, INBOX_MAX_ATTEMPTS: 2, AGENT_CONCURRENCY: 4 },
    clock,
    log,
    store,
    tokens: createValidator(tokenSettings, keys, clock, log),
    seal: createSeal(sealKey === undefined ? undefined : new Secret(sealKey)),
    running: new Set<Promise<void>>(),
    stopping: new AbortController().signal,
  };
  return { services: parts as unknown as Services, lines };
}

/** A channel that answers later. */
export const TELEX: ChannelPlugin = {
  name: 'telex',
  apiVersion: 1,
  summary: 'By telex.',
  settings: [],
  detect: () => true,
  capabilities: { delivery: 'push', textLimit: null, markdown: 'none', typing: true },
  create: () => ({ routes: [], send: async () => {} }),
};
