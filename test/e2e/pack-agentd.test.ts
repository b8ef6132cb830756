import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { packAgentd, packedFiles, tarball } from '../../src/cli/scaffold.ts';

import { isThorough } from '../support/effort.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = join(import.meta.dirname, '../..');

test.runIf(isThorough)('agentd is packed with the files that npm would pack', async () => {
  const args = ['pack', ROOT, '--dry-run', '--json', '--ignore-scripts', '--offline', '--no-update-notifier'];
  const { stdout } = await execa('npm', args);
  const [packed] = JSON.parse(stdout) as { files: { path: string }[] }[];
  expect(await packedFiles(ROOT)).toEqual(packed?.files.map(({ path }) => path).sort());
});

test('an archive unpacks to the same files, byte for byte, with a manifest without scripts', async () => {
  const target = temporaryFolder('pack');
  const file = join(target, 'agentd.tgz');
  await writeFile(file, await packAgentd());
  await execa('tar', ['-xzf', file, '-C', target]);
  for (const name of [
    'bin/agentd.js',
    'man/pictures/demo-done.png',
    'dist/man/agentd.1',
    'dist/src/cli/main.js',
  ])
    expect(await readFile(join(target, 'package', name))).toEqual(await readFile(join(ROOT, name)));
  // npm would ask whoever installs the file to approve `prepare`, which works only in a checkout.
  const { scripts: _scripts, ...manifest } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  expect(JSON.parse(await readFile(join(target, 'package/package.json'), 'utf8'))).toEqual(manifest);
  const { stdout } = await execa('tar', ['-tvzf', file]);
  expect(stdout).toMatch(/^-rwxr-xr-x .* package\/bin\/agentd\.js$/m);
});

test('a file name that is too long for the archive format is refused', () => {
  const file = { name: 'x'.repeat(101), content: new Uint8Array(), isExecutable: false };
  expect(() => tarball([file])).toThrow('is too long for the archive');
});
