import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { outputPattern, shownCommands } from '../support/console.ts';
import { BIN, baseEnv, startAgentd } from '../support/daemon.ts';
import { installChannel } from '../support/new-channel.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Runs the tutorial of agentd-channel(7) command by command, and compares what each command prints with the page. `npm
// install` works without a registry, and `npx` runs the agentd of this project.

const PAGE = readFileSync(resolve(import.meta.dirname, '../../man/agentd-channel.7.md'), 'utf8');
const [, TUTORIAL = ''] = /^## Tutorial\n(.*?)^## /ms.exec(PAGE) ?? [];
const terminals = TUTORIAL.split('second terminal').map((part) =>
  [...part.matchAll(/^```console\n(.*?)^```$/gms)].flatMap(([, block = '']) => shownCommands(block)),
);
const HOOK_MS = 240_000;

let directory: string;
let cwd: string;
/** What each command printed, in order. */
const printed: string[] = [];

beforeAll(async () => {
  directory = temporaryFolder('tutorial');
  const programs = join(directory, 'programs');
  mkdirSync(programs);
  const program = (name: string, line: string) =>
    writeFileSync(join(programs, name), `#!/bin/sh\nexec ${line}\n`, { mode: 0o755 });
  program('agentd', `"${process.execPath}" "${BIN}" "$@"`);
  program('npx', '"$@"');
  const { PATH = '', HOME = '' } = baseEnv(directory);
  const env = { PATH: `${programs}:${PATH}`, HOME };

  const [first = [], second = []] = terminals;
  cwd = directory;
  for (const { line } of first) printed.push(await run(line, env));
  // The page asks for `npm start` here.
  const dev = { STATE_DIR: '', JWT_SECRET_KEY: '', JWT_ALGORITHM: '', WEBCHAT_ENABLED: '' };
  await startAgentd({ directory: cwd, args: ['--dev'], env: dev });
  cwd = directory;
  for (const { line } of second) printed.push(await run(line, env));
}, HOOK_MS);

async function run(line: string, env: Record<string, string>): Promise<string> {
  const folder = /^cd (.+)$/.exec(line)?.[1];
  if (folder !== undefined) {
    cwd = join(cwd, folder);
    return '';
  }
  if (line === 'npm install') {
    await installChannel(cwd);
    return '';
  }
  return new Promise((resolved) => {
    // One command of the tutorial fails on purpose. Its output is compared like any other.
    execFile('sh', ['-c', `exec 2>&1\n${line}`], { cwd, env }, (_error, stdout) => resolved(stdout));
  });
}

it('the tutorial has commands for two terminals', () => {
  expect(terminals.map((commands) => commands.length > 3)).toEqual([true, true]);
});

it.each(terminals.flat().map((command, index) => ({ ...command, index })))(
  'the command prints what the tutorial shows: $line',
  ({ prints, index }) => {
    expect(printed[index]?.trim()).toMatch(outputPattern(prints));
  },
);
