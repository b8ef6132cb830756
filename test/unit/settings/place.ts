import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ConfigLocation } from '../../../src/daemon/settings/configure/configure.ts';

/** A secret of at least 256 bits, as the settings require. */
export const SECRET = 'a-secret-for-tests-of-at-least-256-bits';

/** Valid settings. */
export const VALID = { JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: SECRET, WEBCHAT_ENABLED: 'true' };

/**
 * Creates a working directory with these files. The directory is removed after the test.
 * @returns the directory, and the environment to use
 */
export function placeWith(
  env: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
): ConfigLocation & { cwd: string } {
  const cwd = mkdtempSync(join(tmpdir(), 'agentd-settings-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    const file = join(cwd, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { mode: 0o600 });
  }
  return { env: { HOME: cwd, ...env }, cwd };
}
