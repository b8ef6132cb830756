import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { version } from '../../../src/daemon/files/version.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { agentd, capture } from './captured-output.ts';

describe('a command that reads settings', () => {
  let cwd: string;
  beforeEach(async () => {
    cwd = temporaryFolder('program');
  });

  async function runIn(...argv: string[]) {
    const stderr = capture();
    const code = await runProgram(argv, { stdout: capture(), stderr, cwd });
    return { code, stderr: stderr.text };
  }

  it('exits with 2 if the file of --env-file does not exist', async () => {
    expect(await runIn('config', 'show', '--env-file', './none.env')).toEqual({
      code: 2,
      stderr: `agentd: --env-file names a file that does not exist: ./none.env\nName an existing file, relative to ${process.cwd()}.\n`,
    });
  });

  it('prints a hint that the .env next to the file of --config is not read', async () => {
    const config = join(cwd, 'etc/agentd.yaml');
    await mkdir(join(cwd, 'etc'));
    await writeFile(config, '{}');
    const check = ['token', 'issue', '--sub', '1', '--email', 'a@b', '--config', config];
    expect((await runIn(...check)).stderr).not.toContain('--env-file');
    const env = join(cwd, 'etc/.env');
    await writeFile(env, '');
    const { code, stderr } = await runIn(...check);
    expect(code).toBe(78);
    expect(stderr).toMatch(
      / was not read, since it is not in the working directory\. To use it, add --env-file /,
    );
    expect((await runIn(...check, '--env-file', env)).stderr).not.toContain('was not read');
  });

  it('if a setting is missing, prints a hint about the settings that `serve --dev` wrote', async () => {
    expect((await runIn('logs')).stderr).not.toContain('serve --dev');
    await mkdir(join(cwd, '.agentd'));
    await writeFile(join(cwd, '.agentd/env'), '');
    const { code, stderr } = await runIn('logs');
    expect(code).toBe(78);
    expect(stderr).toMatch(
      /\nFor the daemon of `serve --dev` in this directory, add --env-file \.agentd\/env\.\n$/,
    );
    expect((await runIn('logs', '--env-file', join(cwd, '.agentd/env'))).stderr).not.toContain('serve --dev');
    expect((await runIn('logs', '--lines', 'x')).stderr).not.toContain('serve --dev');
    expect((await runIn('simulate', 'nothing', 'x')).stderr).not.toContain('add --env-file');
  });
});

it('a command with --config says that it does not use the settings of `serve --dev` in the working directory', async () => {
  const cwd = temporaryFolder('program');
  vi.spyOn(process, 'cwd').mockReturnValue(cwd);
  onTestFinished(async () => {
    vi.restoreAllMocks();
  });
  await writeFile(join(cwd, 'agentd.yaml'), '{}');
  const argv = ['config', 'check', '--config', 'agentd.yaml'];
  const stderrOf = async () => {
    const stderr = capture();
    await runProgram(argv, { stdout: capture(), stderr, cwd });
    return stderr.text;
  };
  expect(await stderrOf()).not.toContain('serve --dev` in');
  await mkdir(join(cwd, '.agentd'));
  await writeFile(join(cwd, '.agentd/env'), '');
  expect(await stderrOf()).toMatch(
    /^The settings of `serve --dev` in \.agentd\/env are not used, because --config names a file\.\n/,
  );
});

describe('the program agentd', () => {
  it('prints its version', async () => {
    expect(await agentd('--version')).toEqual({ code: 0, stdout: `${version()}\n`, stderr: '' });
  });

  it('prints every command or its group in its help', async () => {
    const { code, stdout, stderr } = await agentd('--help');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^ {2}serve +Run the daemon in the foreground\.$/m);
    expect(stdout).toMatch(/^ {2}sessions +List, show and end sessions\.$/m);
    expect(stdout).toMatch(/--env-file <file>/);
    expect(stdout).toMatch(/^Examples:\n {2}\$ agentd serve --dev\n/m);
  });

  it('prints the help of a command with options, common options and examples', async () => {
    const { code, stdout } = await agentd('sessions', 'list', '--help');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: agentd sessions list \[options\]/);
    expect(stdout).toMatch(/--limit <n> .*default: 20/);
    expect(stdout).toMatch(/--json/);
    expect(stdout).toMatch(/--config <file>/);
    expect(stdout).toMatch(/Examples:\n {2}\$ agentd sessions list\n/);
  });

  it.each([
    ['an unknown command', ['statsu'], /unknown command 'statsu'\n\(Did you mean status\?\)/],
    [
      'an unknown command of a group',
      ['sessions', 'lst'],
      /unknown command 'lst'\n\(Did you mean list\?\)\nTry `agentd sessions --help`/,
    ],
    ['a misspelled group', ['sesions', 'list'], /\(Did you mean sessions\?\)/],
    [
      'an unknown option',
      ['sessions', 'list', '--limt', '5'],
      /unknown option '--limt'\n\(Did you mean --limit\?\)/,
    ],
    ['a missing argument', ['sessions', 'show'], /missing required argument 'id'/],
    ['an argument too many', ['sessions', 'show', 'a', 'b'], /too many arguments/],
    ['an option without its value', ['sessions', 'list', '--limit'], /argument missing/],
    [
      'a value that a command refuses',
      ['sessions', 'list', '--limit', 'many'],
      /--limit takes a whole number from 1 to 10000, not 'many'/,
    ],
    ['only a group', ['sessions'], /sessions list/],
    ['no command at all', [], /^Usage: agentd/],
  ])('exits with 2 for %s', async (_what, argv, message) => {
    const { code, stdout, stderr } = await agentd(...argv);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(stdout).toBe('');
  });

  it('names the help of the command that was misused', async () => {
    const { stderr } = await agentd('sessions', 'list', '--nothing');
    expect(stderr).toMatch(/^agentd: unknown option '--nothing'\n/);
    expect(stderr).toMatch(/Try `agentd sessions list --help`\./);
  });
});
