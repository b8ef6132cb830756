import { homedir } from 'node:os';

/**
 * Sets HOME to `/` if this user has no home: a container may run as a user id that is not in /etc/passwd. Libraries ask
 * for the home when they are loaded, and Node.js throws if there is none.
 */
export function ensureHome(env: NodeJS.ProcessEnv = process.env, home: () => string = homedir): void {
  try {
    home();
  } catch {
    env.HOME = '/';
  }
}
