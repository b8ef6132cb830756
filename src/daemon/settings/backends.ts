import type { Settings } from './settings.ts';

/** The store of all shared state (agentd-settings(5), `SESSION_BACKEND`). */
export function sessionBackend({
  SESSION_BACKEND,
  REDIS_URL,
}: Partial<Pick<Settings, 'SESSION_BACKEND' | 'REDIS_URL'>>): 'sqlite' | 'redis' | 'postgres' {
  return SESSION_BACKEND ?? (REDIS_URL === undefined ? 'sqlite' : 'redis');
}

/** Whether several daemons can use the store of these settings at the same time. */
export function sharesStore(settings: Parameters<typeof sessionBackend>[0]): boolean {
  return sessionBackend(settings) !== 'sqlite';
}

type MemoryBackend = 'sqlite' | 'postgres' | 'none';

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
