import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openStore } from '../../../src/daemon/store/open.ts';
import { systemClock } from '../../../src/daemon/time/clock.ts';
import { agentd } from './captured-output.ts';
import { stubState } from './stub-settings.ts';

let directory: string;

beforeEach(() => {
  directory = stubState();
});

const COMMANDS = [
  ['sessions', 'list'],
  ['sessions', 'show', 'x'],
  ['memory', 'list', '--sub', 'ada'],
  ['person', 'show', '--sub', 'ada'],
  ['keys', 'list'],
  ['restore', 'backup.db'],
];

describe('a STATE_DIR that is a file', () => {
  it.each(COMMANDS)('is named by `%s %s`', async (...argv) => {
    const file = join(directory, 'notes.txt');
    writeFileSync(file, 'keep me');
    for (const STATE_DIR of [file, join(file, 'state')]) {
      vi.stubEnv('STATE_DIR', STATE_DIR);
      const { code, stdout, stderr } = await agentd(...argv);
      expect([code, stdout]).toEqual([69, '']);
      expect(stderr).toContain(`cannot open the store: ${file} is not a directory\nSet STATE_DIR to a`);
    }
    expect(readFileSync(file, 'utf8')).toBe('keep me');
  });
});

it('a STATE_DIR in which nothing can be made is named by `restore`', async () => {
  vi.stubEnv('STATE_DIR', '/proc/agentd');
  const { code, stderr } = await agentd('restore', 'backup.db');
  expect([code, stderr]).toEqual([69, expect.stringMatching(/cannot open the store: .*\/proc\/agentd'/)]);
});

it('a store on a server is not restored from a file, and the embedded store stays as it is', async () => {
  const backup = join(directory, 'backup.db');
  writeFileSync(join(directory, 'agentd.db'), 'what an earlier configuration used');
  for (const [backend, setting, url] of [
    ['redis', 'REDIS_URL', 'redis://127.0.0.1:9'],
    ['postgres', 'DATABASE_URL', 'postgres://127.0.0.1:9/agentd'],
  ] as const) {
    vi.stubEnv('SESSION_BACKEND', backend);
    vi.stubEnv(setting, url);
    const { code, stdout, stderr } = await agentd('restore', backup);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`agentd: the store (${backend}) is not in a file\nUse the tools of its server`);
  }
  expect(readFileSync(join(directory, 'agentd.db'), 'utf8')).toBe('what an earlier configuration used');
});

it.each([
  [['serve', '--dev'], 69, 'agentd: a file is in the way ('],
  [['simulate', 'msgbot', 'Hello'], 78, 'agentd: the configuration has'],
] as const)('a file in the place of .agentd is no defect of `%s`', async (argv, exit, message) => {
  writeFileSync(join(directory, '.agentd'), '');
  const { code, stderr } = await agentd(...argv);
  expect([code, stderr]).toEqual([exit, expect.stringContaining(message)]);
});

describe('a damaged store', () => {
  const damaged = (path: string) => `agentd: the store is damaged (sqlite ${path}): `;

  it.each(COMMANDS.slice(0, -1))('is named with its path by `%s %s`', async (...argv) => {
    const path = join(directory, 'agentd.db');
    writeFileSync(path, 'no database at all, but long enough to be looked at'.repeat(200));
    const { code, stdout, stderr } = await agentd(...argv);
    expect([code, stdout, stderr]).toEqual([69, '', expect.stringContaining(damaged(path))]);
  });

  it('is named with its path if the damage is found later', async () => {
    const store = await openStore(
      { STATE_DIR: directory, SESSION_BACKEND: 'sqlite' } as Parameters<typeof openStore>[0],
      { role: 'daemon', clock: systemClock },
    );
    await store.close();
    const path = join(directory, 'agentd.db');
    const bytes = readFileSync(path);
    // The pages after the schema.
    writeFileSync(path, bytes.fill(0xff, 2 * 4096));
    const { code, stderr } = await agentd('sessions', 'list');
    expect([code, stderr]).toEqual([69, expect.stringContaining(damaged(path))]);
  });
});
