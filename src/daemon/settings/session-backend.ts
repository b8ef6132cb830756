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
