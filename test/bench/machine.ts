import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';

/** The machine and the versions of a measurement. */
export interface Machine {
  cpu: string;
  cores: number;
  memory_gib: number;
  system: string;
  /** Load of the last minute before the measurement, which shows whether other programs were running. */
  load: number;
  /** Whether server and load each have their own core. */
  pinned: boolean;
  versions: Readonly<Record<string, string>>;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memory_gib: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    load: loadavg()[0] ?? 0,
    pinned: CAN_PIN,
    versions: {
      agentd: versionIn('../../package.json'),
      node: process.versions.node,
      'better-sqlite3': versionIn('../../node_modules/better-sqlite3/package.json'),
      jose: versionIn('../../node_modules/jose/package.json'),
      koa: versionIn('../../node_modules/koa/package.json'),
      'markdown-it': versionIn('../../node_modules/markdown-it/package.json'),
    },
  };
}

/** Whether processes can be pinned to cores. On a machine with one core, this would change nothing. */
export const CAN_PIN =
  availableParallelism() > 1 && spawnSync('taskset', ['-c', '0', 'true'], { stdio: 'ignore' }).status === 0;

function versionIn(path: string): string {
  const { version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as { version: string };
  return version;
}
