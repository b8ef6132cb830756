import { describe, expect, it } from 'vitest';
import { memoryBackend } from '../../../src/daemon/settings/backends.ts';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';

const url = new Secret('postgres://db/agentd');
const chosen = (settings: object) => memoryBackend({ SESSION_BACKEND: 'sqlite', ...settings } as Settings);

describe('the backend of long-term memory', () => {
  it('is the embedded store by default, even if DATABASE_URL is set', () => {
    expect(chosen({})).toBe('sqlite');
    expect(chosen({ DATABASE_URL: url })).toBe('sqlite');
  });

  it('without an embedded store is Postgres if DATABASE_URL is set, and none otherwise', () => {
    expect(chosen({ SESSION_BACKEND: 'redis', DATABASE_URL: url })).toBe('postgres');
    expect(chosen({ SESSION_BACKEND: 'redis' })).toBe('none');
    const REDIS_URL = new Secret('redis://127.0.0.1');
    expect(chosen({ SESSION_BACKEND: undefined, REDIS_URL, DATABASE_URL: url })).toBe('postgres');
    expect(chosen({ SESSION_BACKEND: undefined, REDIS_URL })).toBe('none');
    expect(chosen({ SESSION_BACKEND: undefined, DATABASE_URL: url })).toBe('sqlite');
  });

  it('is the backend that MEMORY_BACKEND names, and `postgres` and `cloudsql` are the same backend', () => {
    for (const [MEMORY_BACKEND, backend] of [
      ['sqlite', 'sqlite'],
      ['postgres', 'postgres'],
      ['cloudsql', 'postgres'],
      ['none', 'none'],
    ]) {
      expect(chosen({ MEMORY_BACKEND, DATABASE_URL: url })).toBe(backend);
      expect(chosen({ MEMORY_BACKEND, SESSION_BACKEND: 'redis', DATABASE_URL: url })).toBe(backend);
    }
  });
});
