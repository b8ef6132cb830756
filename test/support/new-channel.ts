import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { execa } from 'execa';

const ROOT = resolve(import.meta.dirname, '../..');

export interface Manifest {
  version: string;
  engines: object;
  devDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
}

export async function manifestIn(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/**
 * Does what `npm install` does in a channel that `agentd channels new` wrote, but without a registry: agentd comes from
 * the file on which the package depends, and everything else from this project.
 */
export async function installChannel(folder: string): Promise<void> {
  const { devDependencies } = await manifestIn(folder);
  const agentd = join(folder, 'node_modules/agentd');
  await mkdir(agentd, { recursive: true });
  const packed = join(folder, devDependencies.agentd?.replace('file:', '') ?? '');
  await execa('tar', ['-xzf', packed, '-C', agentd, '--strip-components=1']);
  for (const name of await readdir(join(ROOT, 'node_modules')))
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
}
