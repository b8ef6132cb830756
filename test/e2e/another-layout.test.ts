import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { explainError } from '../../src/cli/report-error.ts';
import { command } from '../support/command.ts';
import { agentd } from '../support/daemon.ts';
import { startDaemonHere } from '../support/daemon-here.ts';
import { hasRedis, type RedisServer, startRedis } from '../support/redis-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// The rules are in agentd-store(7), "Layout".

let directory: string;
let database: string;
beforeAll(() => {
  directory = temporaryFolder('layout');
  mkdirSync(join(directory, 'state'), { mode: 0o700 });
  database = join(directory, 'state/agentd.db');
  const db = new Database(database);
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE sessions (x)');
  db.close();
});

it('the daemon does not start with a store of another layout, says why, and does not change the store', async () => {
  const before = readFileSync(database);
  const { code, stdout, stderr } = await agentd(['serve'], { cwd: directory });
  expect([code, stdout]).toEqual([69, '']);
  expect(stderr).toContain(`The store at ${database} was written by another version of agentd`);
  expect(stderr).toContain('Run the version of agentd that wrote the store, or begin with an empty one');
  expect(readFileSync(database)).toEqual(before);
});

it.each([
  ['sessions', 'list'],
  ['backup', 'copy.db'],
])('agentd %s %s also refuses a store of another layout', async (...words) => {
  const { code, stderr } = await command(words, { cwd: directory });
  expect(code).toBe(69);
  expect(stderr).toContain('its layout differs (');
});

it('agentd doctor reports a store of another layout', async () => {
  const { code, stdout } = await command(['doctor'], { cwd: directory });
  expect(code).toBe(1);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('written by another version of agentd');
});

describe.skipIf(!hasRedis)('with Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  beforeEach(() => redis.flush());

  it.each([
    ['keys without a layout', ['agentd:{inbox}:clock', '1']],
    ['keys of another layout', ['agentd:{store}:layout', '0']],
  ])('the daemon does not start with %s, and says why', async (_, [key = '', value = '']) => {
    await redis.client.set(key, value);
    const started = startDaemonHere({ directory, env: { REDIS_URL: redis.url } });
    const { exitCode, message } = explainError(await started.catch((reason: unknown) => reason));
    expect(exitCode).toBe(69);
    expect(message).toContain('was written by another version of agentd: its layout differs');
    expect(await redis.client.keys('*')).toEqual([key]);
  });
});
