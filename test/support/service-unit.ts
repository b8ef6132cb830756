import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { execa } from 'execa';
import { closeAtEnd } from './close-at-end.ts';
import { NotifySocket } from './notify-socket.ts';

/** Directories that replace those of the system. */
export interface UnitDirectories {
  /** `/var/lib` */
  state: string;
  /** `/run` */
  run: string;
  /** The first directory of PATH. */
  programs: string;
}

/**
 * Runs the service of a unit file, but applies only the lines on which agentd depends. Unlike systemd, it has no
 * sandbox and does not change the user. The service is stopped at the end.
 */
export class ServiceUnit {
  readonly #values: ReadonlyMap<string, readonly string[]>;
  readonly #name: string;
  readonly #directories: UnitDirectories;
  #stop: (() => Promise<number | null>) | null = null;

  /** @param file the unit file */
  constructor(file: string, directories: UnitDirectories) {
    const values = new Map<string, string[]>();
    for (const [, key = '', value = ''] of readFileSync(file, 'utf8').matchAll(/^([A-Z]\w*)=(.*)$/gm))
      values.set(key, [...(values.get(key) ?? []), value]);
    this.#values = values;
    this.#name = basename(file);
    this.#directories = directories;
  }

  /** Resolves when the service has reported that it is ready, or, if it is `oneshot`, has ended successfully. */
  async start(): Promise<void> {
    const { state } = this.#directories;
    const names = this.#of('StateDirectory').flatMap((line) => line.split(' '));
    for (const name of names) mkdirSync(join(state, name), { recursive: true, mode: 0o700 });
    this.#loadCredentials();
    if (this.#of('Type')[0] === 'oneshot') {
      for (const line of [...this.#of('ExecStart'), ...this.#of('ExecStartPost')])
        await this.#execute(line, {});
      return;
    }
    const socket = await NotifySocket.open();
    const child = this.#execute(this.#of('ExecStart')[0] ?? '', { NOTIFY_SOCKET: socket.name });
    const end = async () => {
      try {
        return (await child).exitCode ?? null;
      } catch (error) {
        return (error as { exitCode?: number }).exitCode ?? null;
      }
    };
    const ended = end();
    const endsEarly = async () => {
      await child;
      throw new Error('the service ended before it was ready');
    };
    this.#stop = async () => {
      child.kill('SIGTERM');
      const code = await ended;
      await socket.close();
      return code;
    };
    closeAtEnd(() => this.stop());
    await Promise.race([socket.seen('READY=1'), endsEarly()]);
  }

  /** @returns the exit code; null if it was not running. */
  async stop(): Promise<number | null> {
    const stop = this.#stop;
    this.#stop = null;
    return stop === null ? null : stop();
  }

  #execute(line: string, env: Record<string, string>) {
    const { programs, run } = this.#directories;
    const own = this.#of('Environment').map((pair) => {
      const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(pair) ?? [];
      return [name, this.#expanded(value)];
    });
    return execa('sh', ['-c', `exec ${this.#expanded(line)}`], {
      cwd: run,
      env: { PATH: `${programs}:${process.env.PATH}`, ...Object.fromEntries(own), ...env },
      extendEnv: false,
      forceKillAfterDelay: false,
    });
  }

  #loadCredentials(): void {
    mkdirSync(this.#credentials, { recursive: true, mode: 0o700 });
    for (const line of this.#of('LoadCredential')) {
      const [, name = '', path = ''] = /^(\w+):(.*)$/.exec(line) ?? [];
      copyFileSync(path, join(this.#credentials, name));
    }
  }

  get #credentials(): string {
    return join(this.#directories.run, 'credentials', this.#name);
  }

  #expanded(text: string): string {
    const specifiers: Record<string, string> = {
      '%%': '%',
      '%S': this.#directories.state,
      '%d': this.#credentials,
    };
    return text.replaceAll(/%./g, (found) => {
      const value = specifiers[found];
      if (value === undefined) throw new Error(`${this.#name}: no value for ${found}`);
      return value;
    });
  }

  #of(key: string): readonly string[] {
    return this.#values.get(key) ?? [];
  }
}
