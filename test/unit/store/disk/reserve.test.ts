import { execFileSync } from 'node:child_process';
import { linkSync, lstatSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Reserve } from '../../../../src/daemon/store/disk.ts';
import { stateDirectory } from '../state-directory.ts';

const BYTES = 64 * 1024;

let path: string;
/** A file of the same user, elsewhere. */
let other: string;
beforeEach(() => {
  path = join(stateDirectory(), 'agentd.reserve');
  other = join(stateDirectory(), 'other');
  writeFileSync(other, 'x'.repeat(BYTES));
});

describe('the reserve, in a directory in which another user has made files,', () => {
  it('is not written into the file that a link leads to', async () => {
    symlinkSync(other, `${path}.new`);
    const reserve = new Reserve(path, BYTES);
    await reserve.make();
    expect(reserve.made).toBe(true);
    expect(readFileSync(other, 'utf8')).toBe('x'.repeat(BYTES));
    expect(lstatSync(path)).toMatchObject({ size: BYTES, nlink: 1 });
  });

  it.each([
    ['symbolic', symlinkSync],
    ['hard', linkSync],
  ])('is not taken to be the file that a %s link leads to, which would be cut off', async (_kind, link) => {
    link(other, path);
    const reserve = new Reserve(path, BYTES);
    expect(reserve.made).toBe(false);
    await reserve.make();
    reserve.giveUp();
    expect(readFileSync(other, 'utf8')).toBe('x'.repeat(BYTES));
  });

  it('replaces a named pipe', async () => {
    execFileSync('mkfifo', [`${path}.new`]);
    const reserve = new Reserve(path, BYTES);
    await reserve.make();
    expect(reserve.made).toBe(true);
  });
});

it('the reserve is made again if it was given up in part before', async () => {
  const reserve = new Reserve(path, BYTES);
  await reserve.make();
  expect(reserve.giveUp()).toBe(true);
  expect(lstatSync(path).size).toBe(BYTES / 4);
  truncateSync(path, 1);
  expect(new Reserve(path, BYTES).made).toBe(false);
  await reserve.make();
  expect(new Reserve(path, BYTES).made).toBe(true);
});
