import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { changeKeyFile, makeKeyFile, readKeyFile } from '../../../src/daemon/identity/key-file.ts';

const disk = vi.hoisted(() => ({
  /** Runs before a file is removed or replaces another one. It may throw, as if the process ended there. */
  before: async (_step: string, _path: string) => {},
  /** What became durable, and which file got its name. */
  steps: [] as string[],
}));
vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof import('node:fs/promises')>();
  return {
    ...fs,
    async open(...args: Parameters<typeof fs.open>) {
      const file = await fs.open(...args);
      const sync = file.sync.bind(file);
      file.sync = async () => {
        await sync();
        disk.steps.push((await file.stat()).isDirectory() ? 'directory is durable' : 'file is durable');
      };
      return file;
    },
    async link(from: string, to: string) {
      await fs.link(from, to);
      disk.steps.push('file has its name');
    },
    async rename(from: string, to: string) {
      await disk.before('rename', from);
      await fs.rename(from, to);
      disk.steps.push('file has its name');
    },
    async unlink(path: string) {
      await disk.before('unlink', path);
      await fs.unlink(path);
    },
  };
});

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'agentd-key-'));
  path = join(directory, 'encryption-key');
  writeFileSync(path, key(1), { mode: 0o600 });
});
afterEach(() => {
  disk.before = async () => {};
  disk.steps = [];
  rmSync(directory, { recursive: true });
});

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const keyIn = async () => (await readKeyFile(directory))?.keys.reveal();
const add = (byte: number) => changeKeyFile(directory, (keys) => [key(byte), ...keys]);

it('still has all keys if the command that removes the last one ends before it is done', async () => {
  disk.before = async (step) => {
    if (step === 'unlink') throw new Error('killed');
  };
  await expect(changeKeyFile(directory, () => [])).rejects.toThrow('killed');
  expect(await keyIn()).toBe(key(1));
});

it('survives a crash of the machine: it is durable before it has its name, and so is the name', async () => {
  const steps = ['file is durable', 'file has its name', 'directory is durable'];
  await add(2);
  expect(disk.steps.splice(0)).toEqual(steps);
  rmSync(path);
  await makeKeyFile(directory);
  expect(disk.steps).toEqual(steps);
});
