import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { startDaemonHere } from '../support/daemon-here.ts';
import { isThorough } from '../support/effort.ts';
import { installChannel, manifestIn } from '../support/new-channel.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const execute = promisify(execFile);

let directory: string;
beforeEach(async () => {
  directory = temporaryFolder('new');
});

const begin = (...args: string[]) => command(['channels', 'new', ...args], { cwd: directory });

async function npm(channel: string, ...args: string[]): Promise<string> {
  // With NODE_TEST_CONTEXT set, the inner test runner would report to an outer runner instead of printing its results.
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env;
  return (await execute('npm', args, { cwd: channel, env })).stdout;
}

describe('agentd channels new', () => {
  it.runIf(isThorough)(
    'writes a package that passes its type check and its tests, and can be built',
    {
      timeout: 120_000,
    },
    async () => {
      const { code, stdout } = await begin('carrier-pigeon', '--json');
      expect(code).toBe(0);
      const channel = join(directory, 'agentd-channel-carrier-pigeon');
      expect(JSON.parse(stdout)).toMatchObject({ name: 'carrier-pigeon' });
      const files = (await readdir(channel, { recursive: true, withFileTypes: true })).filter((entry) =>
        entry.isFile(),
      );
      expect(files).toHaveLength((JSON.parse(stdout) as { files: string[] }).files.length);
      for (const { parentPath, name } of files)
        expect(await readFile(join(parentPath, name), 'utf8')).not.toMatch(/pigeonpost/i);
      const ours = await manifestIn(ROOT);
      expect(await manifestIn(channel)).toMatchObject({
        name: 'agentd-channel-carrier-pigeon',
        // The peer dependency is optional. Otherwise npm would install agentd from a registry, which may have a different
        // package of that name.
        peerDependencies: { agentd: `^${ours.version}` },
        peerDependenciesMeta: { agentd: { optional: true } },
        devDependencies: { agentd: `file:vendor/agentd-${ours.version}.tgz`, node: expect.any(String) },
        engines: ours.engines,
      });
      expect(await readFile(join(channel, 'verify.ts'), 'utf8')).toContain("'x-carrier-pigeon-signature'");
      expect(await readFile(join(channel, '.gitignore'), 'utf8')).toContain('node_modules');
      expect(await readFile(join(channel, '.npmrc'), 'utf8')).toContain('loglevel=error');

      await installChannel(channel);
      await npm(channel, 'run', 'typecheck');
      const tested = await npm(channel, 'test');
      expect(tested).toContain('carrier-pigeon: checks the signature before it reads the body');
      expect(tested).toMatch(/^(?:#|ℹ) fail 0$/m);

      // The published package contains no path of this machine, and needs no installed agentd.
      await npm(channel, 'pack');
      const published = join(directory, 'node_modules/agentd-channel-carrier-pigeon');
      await mkdir(published, { recursive: true });
      const [packed = ''] = (await readdir(channel)).filter((file) => file.endsWith('.tgz'));
      await execute('tar', ['-xzf', join(channel, packed), '-C', published, '--strip-components=1']);
      expect((await readdir(published)).sort()).toEqual(['README.md', 'dist', 'package.json']);
      const text = await readFile(join(published, 'package.json'), 'utf8');
      expect(text).not.toContain('..');
      expect(text).not.toContain(directory);
      expect(text).not.toContain(ROOT);
      expect(await readFile(join(published, 'dist/index.js'), 'utf8')).toContain("import('./simulator.js')");
      const configured = {
        MESSAGING_PLATFORMS: 'carrier-pigeon',
        CARRIER_PIGEON_TOKEN: 'token',
        CARRIER_PIGEON_SECRET: 'secret',
        PORT: '1',
      };
      const listed = await command(['channels', 'list', '--json'], { cwd: directory, env: configured });
      expect(JSON.parse(listed.stdout)).toContainEqual(
        expect.objectContaining({ from: 'package agentd-channel-carrier-pigeon', active: true }),
      );
    },
  );

  it('writes a channel that a daemon runs from its folder, and that answers simulated messages', async () => {
    expect((await begin('pager', '--directory', 'plugins/pager')).stdout).toContain(
      'cd ./plugins/pager && npm start',
    );
    const env = {
      MESSAGING_PLATFORMS: './plugins/pager',
      STATE_DIR: join(directory, '.agentd'),
    };
    const daemon = await startDaemonHere({ directory, dev: true, env });
    expect(daemon.stdout()).toContain('pager');
    const args = ['simulate', 'pager', 'Who am I?', '--url', daemon.url, '--json'];
    const { code, stdout, stderr } = await command(args, { cwd: directory, env });
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('refused')]);
    const happenings = JSON.parse(stdout) as { type: string; text?: string }[];
    const shown = happenings.find(({ type }) => type === 'shown')?.text;
    expect(shown).toContain('you’re not signed in');
    expect(shown).toContain('To sign in, send /sign-in followed by the token from our website.');
    const signing = ['simulate', 'pager', '/sign-in a.b.c', '--command', '--url', daemon.url];
    const signIn = await command(signing, { cwd: directory, env });
    expect(signIn.stdout).toContain('You are not signed in: JWT Malformed.');
    const wrong = await command([...args, '--bad-signature'], { cwd: directory, env });
    expect(wrong.code).toBe(0);
  });

  it('writes nothing if the directory is not empty, or is a file', async () => {
    await mkdir(join(directory, 'kept'));
    await writeFile(join(directory, 'kept/mine.txt'), 'mine');
    const { code, stderr } = await begin('pager', '--directory', 'kept');
    expect([code, stderr]).toEqual([1, expect.stringContaining('is not empty\nNothing was written.')]);
    await writeFile(join(directory, 'file'), '');
    const file = await begin('pager', '--directory', 'file');
    expect([file.code, file.stderr]).toEqual([1, expect.stringContaining('file is not a directory\n')]);
    expect(await readdir(directory, { recursive: true })).toEqual(['file', 'kept', 'kept/mine.txt']);
  });

  it('accepts an existing empty directory', async () => {
    await mkdir(join(directory, 'empty'));
    expect((await begin('pager', '--directory', 'empty')).code).toBe(0);
    expect(await readdir(directory)).toEqual(['empty']);
  });

  it.each(['Pager', 'my_pager', '../pager', '-', 'a'.repeat(33), 'webchat', 'list', ''])(
    'refuses the name %j',
    async (name) => {
      const { code, stderr } = await begin('--', name);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`'${name}' cannot be the name of a channel`),
      ]);
      expect(await readdir(directory)).toEqual([]);
    },
  );

  it.each(['9x', 'my--pager', 'pager-'])('refuses the name %j, and says what a name may be', async (name) => {
    const { code, stderr } = await begin(name);
    expect([code, stderr]).toEqual([
      2,
      `agentd: '${name}' cannot be the name of a channel\nA name is at most 32 lower-case letters, digits and single hyphens, beginning with a letter and not ending with a hyphen.\n`,
    ]);
  });
});
