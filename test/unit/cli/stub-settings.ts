import { onTestFinished, vi } from 'vitest';
import { Secret } from '../../../src/daemon/settings/secret.ts';
import type { Settings } from '../../../src/daemon/settings/settings.ts';
import { stateDirectory } from '../store/state-directory.ts';

/**
 * Sets the environment variables in which a command finds these settings, until the test ends. A setting that is
 * undefined is unset. The working directory is STATE_DIR, so that no configuration file of the machine applies.
 */
export function stubSettings(settings: Partial<Settings>): void {
  for (const [name, value] of Object.entries(settings))
    vi.stubEnv(name, value instanceof Secret ? value.reveal() : value === undefined ? value : String(value));
  if (settings.STATE_DIR !== undefined) vi.spyOn(process, 'cwd').mockReturnValue(settings.STATE_DIR);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });
}

/** Makes an empty state directory for this test, with these settings beside it. @returns the directory */
export function stubState(settings: Partial<Settings> = {}): string {
  const STATE_DIR = stateDirectory();
  stubSettings({ STATE_DIR, SESSION_BACKEND: 'sqlite', TRACE_RETENTION_DAYS: 7, ...settings });
  return STATE_DIR;
}
