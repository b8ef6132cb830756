import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { outputPattern, shownCommands } from '../support/console.ts';
import { BIN, LAUNCH_OPTIONS } from '../support/daemon.ts';
import { freePort } from '../support/free-ports.ts';
import { withoutNotify } from '../support/notify-socket.ts';
import { ServiceUnit } from '../support/service-unit.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PAGE = readFileSync(resolve(import.meta.dirname, '../../man/agentd-deploy.7.md'), 'utf8');
/** The console blocks of the page, without the indentation that blocks in a list have. */
const blocks = [...PAGE.matchAll(/^( *)```console\n(.*?)^ *```/gms)].map(([, indent = '', text = '']) =>
  text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
);
const commands = blocks.flatMap(shownCommands);

/**
 * Runs all commands of agentd-deploy(7) in order, as an operator would, and compares their output with the page. A
 * directory stands in for the root of the file system. The test itself stands in for systemd and useradd.
 */
describe.skipIf(withoutNotify)('agentd-deploy(7), from the package to a service', () => {
  let root: string;
  const units = new Map<string, ServiceUnit>();
  const typed: string[] = [];
  beforeAll(async () => {
    root = temporaryFolder('deploy');
    for (const path of ['bin', 'etc/systemd/system', 'run', 'var/lib'])
      mkdirSync(join(root, path), { recursive: true });
    const program = `#!/bin/sh\nexec "${process.execPath}" ${LAUNCH_OPTIONS.join(' ')} -- "${BIN}" "$@"\n`;
    writeFileSync(join(root, 'bin/agentd'), program, { mode: 0o755 });
    const [http, admin] = [await freePort(), await freePort()];
    /** The paths and addresses on the page, each with its replacement in this test. */
    const names = [
      ['/etc/agentd', join(root, 'etc/agentd')],
      ['/etc/systemd/system', join(root, 'etc/systemd/system')],
      ['/var/lib/agentd', join(root, 'var/lib/agentd')],
      ['127.0.0.1:8080', `127.0.0.1:${http}`],
      ['127.0.0.1:9464', `127.0.0.1:${admin}`],
    ] as const;
    const here = (text: string) => names.reduce((so_far, [from, to]) => so_far.replaceAll(from, to), text);
    const there = (text: string) => names.reduce((so_far, [from, to]) => so_far.replaceAll(to, from), text);

    const run = async (line: string): Promise<string> => {
      typed.push(line);
      const [word, ...rest] = line.split(' ');
      if (word === 'useradd') return '';
      if (word === 'systemctl') return systemctl(rest);
      const options = {
        cwd: root,
        env: { PATH: `${root}/bin:${process.env.PATH}`, HOME: root },
      };
      const { stdout } = await promisify(execFile)('sh', ['-c', `exec 2>&1\n${here(line)}`], options);
      // The page does not show this warning. The test gets it because its root is in a directory that the units hide.
      return there(stdout).replace(/^warning: the service cannot read .*\n/, '');
    };
    const systemctl = async ([verb = '', ...words]: string[]): Promise<string> => {
      const named = words.filter((word) => !word.startsWith('--') && !word.endsWith('.timer'));
      for (const name of named.map((word) => word.replace(/\.service$/, ''))) {
        const directories = {
          state: join(root, 'var/lib'),
          run: join(root, 'run'),
          programs: join(root, 'bin'),
        };
        const file = join(root, 'etc/systemd/system', `${name}.service`);
        if (!units.has(name)) units.set(name, new ServiceUnit(file, directories));
        if (verb === 'stop') expect(await units.get(name)?.stop()).toBe(0);
        else await units.get(name)?.start();
      }
      return '';
    };

    for (const { line, prints } of commands) {
      const isInit = line.startsWith('agentd init');
      const shown = line.replace('agentd-….db', 'agentd-*.db');
      outputs.push({ line, prints, printed: await run(isInit ? `${shown} --directory /etc/agentd` : shown) });
      if (!isInit) continue;
      const config = join(root, 'etc/agentd/agentd.yaml');
      const settings = here(readFileSync(config, 'utf8')).replace(
        /^# PORT:.*$/m,
        `PORT: ${http}\nSHUTDOWN_DELAY_SECONDS: 0`,
      );
      writeFileSync(config, settings.replace(/^# SHUTDOWN_DELAY_SECONDS.*$/m, ''));
    }
  });
  const outputs: { line: string; prints: string; printed: string }[] = [];

  it('shows commands to run', () => {
    expect(commands.length).toBeGreaterThan(12);
    expect(typed).toHaveLength(commands.length);
  });

  it.each(commands.map(({ line }, index) => ({ line, index })))(
    'shows what the command prints: $line',
    ({ index }) => {
      const { prints = '', printed = '' } = outputs[index] ?? {};
      // A `…` on the page stands for any text.
      expect(printed.trim()).toMatch(outputPattern(prints));
    },
  );

  it('runs the commands that `agentd init` suggests as next steps', () => {
    const said = outputs[0]?.printed.match(/^ {2}\S.*$/gm)?.map((line) => line.trim()) ?? [];
    const next = said.map((line) => line.replace(/ {2,}#.*$/, '')).filter((line) => !line.startsWith('man '));
    expect(next.length).toBeGreaterThan(5);
    expect(next.filter((line) => !typed.includes(line))).toEqual([]);
  });

  it('restores a backup, and keeps the store that the backup replaces', () => {
    expect(existsSync(join(root, 'var/lib/agentd/agentd.db.before-restore'))).toBe(true);
  });
});

describe('config/kubernetes/agentd.yaml', () => {
  it('is a valid configuration, together with the secrets that agentd-deploy(7) names', async () => {
    const secrets = temporaryFolder('secrets');
    for (const name of ['JWT_SECRET_KEY', 'TOKEN_ENCRYPTION_KEY', 'ADMIN_TOKEN'])
      writeFileSync(join(secrets, name), randomBytes(32).toString('base64'), { mode: 0o600 });
    const settings = load(
      readFileSync(resolve(import.meta.dirname, '../../config/kubernetes/agentd.yaml'), 'utf8'),
    ) as object;
    const values = {
      ...settings,
      JWT_SECRET_KEY_FILE: join(secrets, 'JWT_SECRET_KEY'),
      TOKEN_ENCRYPTION_KEY_FILE: join(secrets, 'TOKEN_ENCRYPTION_KEY'),
      ADMIN_TOKEN_FILE: join(secrets, 'ADMIN_TOKEN'),
      REDIS_URL_FILE: '',
      DATABASE_URL_FILE: '',
      REDIS_URL: 'redis://:secret@redis:6379/0',
      DATABASE_URL: 'postgres://agentd:secret@postgresql/agentd?sslmode=verify-full',
    };
    const environment = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join() : String(value),
      ]),
    );
    const checked = await command(['config', 'check'], {
      base: false,
      env: { ...environment, ADMIN_LISTEN: ':9464' },
    });
    expect([checked.code, checked.stderr]).toEqual([0, '']);
    expect(checked.stdout).toContain('channels: webchat, sse');
  });
});
