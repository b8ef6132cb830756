import { expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { version } from '../../../src/daemon/files/version.ts';
import { layoutName } from '../../../src/daemon/store/kernels/sqlite/layout.ts';
import { capture } from './captured-output.ts';

async function run(...argv: string[]): Promise<string> {
  const stdout = capture();
  expect(await runProgram(argv, { stdout, stderr: capture() })).toBe(0);
  return stdout.text;
}

it('agentd version prints what a bug report needs', async () => {
  expect(await run('version')).toBe(
    [
      `agentd    ${version()}`,
      'commit    unknown',
      `Node.js   ${process.version}`,
      `layout    ${layoutName()}`,
      `platform  ${process.platform} ${process.arch}`,
      '',
    ].join('\n'),
  );
});

it('agentd version prints the same information as one JSON document', async () => {
  expect(JSON.parse(await run('version', '--json'))).toEqual({
    version: version(),
    commit: null,
    node: process.version,
    layout: layoutName(),
    platform: process.platform,
    arch: process.arch,
  });
});
