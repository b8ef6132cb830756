import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The commit of a checkout, followed by `-dirty` if a file of it was changed; null if this is no checkout. A build of an
 * image has no repository: there, AGENTD_COMMIT names the commit.
 * @param root the folder of the project
 */
export function readCommit(root: string): string | null {
  const given = process.env.AGENTD_COMMIT?.trim();
  if (given) return given;
  // Otherwise, a folder inside of another repository would get the commit of that repository.
  if (!existsSync(join(root, '.git'))) return null;
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  try {
    const isDirty = git('status', '--porcelain', '--untracked-files=no') !== '';
    return `${git('rev-parse', 'HEAD')}${isDirty ? '-dirty' : ''}`;
  } catch (error) {
    // Git may be missing, or refuse a checkout of another user. That must prevent no build.
    console.error(`the build does not know its commit: ${(error as Error).message.trim()}`);
    return null;
  }
}
