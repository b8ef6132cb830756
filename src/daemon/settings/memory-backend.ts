import { sessionBackend } from './session-backend.ts';
import type { Settings } from './settings.ts';

export type MemoryBackend = 'sqlite' | 'postgres' | 'none';

/**
 * Where long-term memory is kept (agentd-settings(5), `MEMORY_BACKEND`). If that setting is unset: in the embedded
 * store if there is one, otherwise in Postgres if DATABASE_URL is set.
 */
export function memoryBackend({
  MEMORY_BACKEND,
  DATABASE_URL,
  ...settings
}: Pick<Settings, 'MEMORY_BACKEND' | 'DATABASE_URL' | 'SESSION_BACKEND'> &
  Partial<Pick<Settings, 'REDIS_URL'>>): MemoryBackend {
  if (MEMORY_BACKEND === 'cloudsql') return 'postgres';
  if (MEMORY_BACKEND !== undefined) return MEMORY_BACKEND;
  if (sessionBackend(settings) === 'sqlite') return 'sqlite';
  return DATABASE_URL === undefined ? 'none' : 'postgres';
}
