import type { Examination } from '../examination.ts';
import { parseRedisUrl } from '../redis-url.ts';
import { sessionBackend } from '../session-backend.ts';

/** Checks that the settings of the store fit together (agentd-store(7), "Redis"). */
export function checkStoreSettings(look: Examination): void {
  const url = look.value('REDIS_URL');
  const backend = sessionBackend({ SESSION_BACKEND: look.value('SESSION_BACKEND'), REDIS_URL: url });
  if (backend !== 'redis') {
    for (const name of ['REDIS_URL', 'REDIS_DURABILITY'] as const)
      if (look.isGiven(name)) look.warn(`${name} has no effect: SESSION_BACKEND is ${backend}`);
    if (backend === 'postgres') {
      look.demand('DATABASE_URL', 'is not set, but SESSION_BACKEND is postgres');
      warnUnsealed(look);
    }
    return;
  }
  look.demand('REDIS_URL', 'is not set, but SESSION_BACKEND is redis');
  if (url === undefined) return;
  try {
    parseRedisUrl(url.reveal());
  } catch (error) {
    look.refuse(
      'REDIS_URL',
      `cannot be read: ${(error as Error).message}`,
      'redis://host:6379/0, rediss://user:password@host:6379, redis+sentinel://host:26379,host:26379/master, redis+cluster://host:6379,host:6379, or unix:/path/of/a/socket',
    );
  }
  warnUnsealed(look);
}

function warnUnsealed(look: Examination): void {
  if (!look.isGiven('TOKEN_ENCRYPTION_KEY')) look.warn(UNSEALED);
}

/** The warning about a shared store without a shared key. */
export const UNSEALED =
  'TOKEN_ENCRYPTION_KEY is not set: tokens are stored unsealed in the store that daemons share, and anybody who can read it can act as their owners. Set the same key on every replica';
