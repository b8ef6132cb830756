import type { ConfigLocation } from '../../../src/daemon/settings/configure/configure.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

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
  const cwd = temporaryFolder('settings', files);
  return { env: { HOME: cwd, ...env }, cwd };
}
