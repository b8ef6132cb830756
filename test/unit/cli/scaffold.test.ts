import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeNewFiles } from '../../../src/cli/scaffold.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const ADVICE = 'Name another directory.';

describe('writeNewFiles', () => {
  it('writes nothing and leaves no new directory if one of the files exists', async () => {
    const directory = temporaryFolder('new-files');
    await mkdir(join(directory, 'there'));
    await writeFile(join(directory, 'there/b'), 'kept');
    const files = [
      { path: join(directory, 'new/deeper/a'), content: 'a' },
      { path: join(directory, 'there/b'), content: 'b' },
    ];

    await expect(writeNewFiles(files, ADVICE)).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining('there/b exists; nothing was written'),
      advice: ADVICE,
    });
    expect(await readdir(directory)).toEqual(['there']);
    expect(await readFile(join(directory, 'there/b'), 'utf8')).toBe('kept');
  });

  it('reports a directory in which nothing can be created', async () => {
    await expect(writeNewFiles([{ path: '/proc/agentd/a', content: '' }], ADVICE)).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(/^cannot write the files: ENOENT: .*'\/proc\/agentd'$/),
    });
  });
});
