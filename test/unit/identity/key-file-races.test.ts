import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  changeKeyFile,
  KeyFileUnchanged,
  makeKeyFile,
  readKeyFile,
} from '../../../src/daemon/identity/key-file.ts';

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

it('has the key of the other command if two at once find the unfinished file of a third', async () => {
  writeFileSync(`${path}.next`, '', { mode: 0o600 });
  utimesSync(`${path}.next`, 1, 1);
  const first = vi.fn(() => add(2));
  disk.before = async () => {
    disk.before = async () => {};
    await first();
  };
  await expect(add(3)).rejects.toBeInstanceOf(KeyFileUnchanged);
  expect(first).toHaveBeenCalledOnce();
  expect(await keyIn()).toBe(`${key(2)},${key(1)}`);
  expect(readdirSync(directory)).toEqual(['encryption-key']);
});

it('never takes over the file of another command that has just begun', async () => {
  writeFileSync(`${path}.next`, '', { mode: 0o600 });
  utimesSync(`${path}.next`, 1, 1);
  disk.before = async () => {
    disk.before = async () => {};
    // The other command has removed the unfinished file and begun its own.
    rmSync(`${path}.next`);
    writeFileSync(`${path}.next`, key(9), { mode: 0o600 });
  };
  await expect(add(3)).rejects.toBeInstanceOf(KeyFileUnchanged);
  expect(await keyIn()).toBe(key(1));
});

it('is not replaced by the file of another command that took over during a long pause', async () => {
  const change = changeKeyFile(directory, (keys) => {
    rmSync(`${path}.next`);
    writeFileSync(`${path}.next`, '', { mode: 0o600 });
    return [key(2), ...keys];
  });
  await expect(change).rejects.toBeInstanceOf(KeyFileUnchanged);
  expect(await keyIn()).toBe(key(1));
  expect(readFileSync(`${path}.next`, 'utf8')).toBe('');
});

it('can be changed after a clock that was ahead has been set back', async () => {
  writeFileSync(`${path}.next`, '', { mode: 0o600 });
  const ahead = Date.now() / 1000 + 3600;
  utimesSync(`${path}.next`, ahead, ahead);
  await add(2);
  expect(await keyIn()).toBe(`${key(2)},${key(1)}`);
});

it('survives a crash of the machine: it is durable before it has its name, and so is the name', async () => {
  const steps = ['file is durable', 'file has its name', 'directory is durable'];
  await add(2);
  expect(disk.steps.splice(0)).toEqual(steps);
  rmSync(path);
  await makeKeyFile(directory);
  expect(disk.steps).toEqual(steps);
});
