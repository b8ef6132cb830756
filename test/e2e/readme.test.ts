import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { outputPattern, shownCommands } from '../support/console.ts';
import { BIN, LAUNCH_OPTIONS } from '../support/daemon.ts';
import { type DaemonHere, startDaemonHere } from '../support/daemon-here.ts';

const README = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');
const blocks = [...README.matchAll(/^```console\n(.*?)^```/gms)].map(([, text]) => text ?? '');
/** The commands in the README, each with the output that the README shows. */
const commands = blocks.flatMap(shownCommands);

/** The README says that it leaves out this line of output. */
const FOUND_SETTINGS = 'Using the settings of `serve --dev` in .agentd/env.\n';

/** The maximum time for all commands of the README, in ms. They run one after the other, each as a separate program. */
const HOOK_MS = 120_000;

let daemon: DaemonHere;
let outputs: string[];

beforeAll(async () => {
  daemon = await startDaemonHere({
    dev: true,
    env: {
      PORT: '0',
      WEBCHAT_ENABLED: '',
      JWT_SECRET_KEY: '',
      JWT_ALGORITHM: '',
      STATE_DIR: '',
      SHUTDOWN_GRACE_SECONDS: '',
    },
  });
  const programs = join(daemon.directory, 'programs');
  mkdirSync(programs);
  writeFileSync(
    join(programs, 'agentd'),
    `#!/bin/sh\nexec "${process.execPath}" ${LAUNCH_OPTIONS.join(' ')} "${BIN}" "$@"\n`,
    {
      mode: 0o755,
    },
  );
  // One shell for all commands, like one terminal. A line that no command prints separates their outputs.
  const script = commands
    .map(({ line }) => `${line.replaceAll('http://127.0.0.1:8080', daemon.url)}\necho '=-='`)
    .join('\n');
  const { stdout } = await promisify(execFile)('sh', ['-c', `exec 2>&1\n${script}`], {
    cwd: daemon.directory,
    env: { PATH: `${programs}:${process.env.PATH}`, HOME: daemon.directory },
  });
  outputs = stdout
    .replaceAll(daemon.url, 'http://127.0.0.1:8080')
    .replaceAll(FOUND_SETTINGS, '')
    .split('=-=\n');
}, HOOK_MS);

it('the README shows commands to run', () => {
  expect(commands.length).toBeGreaterThan(8);
});

it.each(commands.map((command, index) => ({ ...command, index })))(
  'the README shows what the command prints: $line',
  ({ prints, index }) => {
    expect(outputs[index]?.trim()).toMatch(outputPattern(prints));
  },
);
