import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LogFile } from '../../src/daemon/log-file.ts';
import { ConfigurationError } from '../../src/daemon/settings/problem.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'agentd-log-file-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

function makePipe(): string {
  const path = join(folder(), 'pipe');
  expect(spawnSync('mkfifo', [path]).status).toBe(0);
  return path;
}

test('a log file contains a line as soon as the call that writes it returns', () => {
  const path = join(folder(), 'agentd.log');
  const file = new LogFile(path, () => expect.unreachable());
  for (const line of ['one\n', 'two\n']) file.write(line);
  expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
});

test('a named pipe without a reader causes a configuration error, and does not block the start', () => {
  const path = makePipe();
  expect(() => new LogFile(path, () => undefined)).toThrow(ConfigurationError);
});

test('a named pipe that nobody reads never blocks the daemon: lines are lost, and the loss is reported', () => {
  const path = makePipe();
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  onTestFinished(() => closeSync(reader));
  const told: string[] = [];
  const file = new LogFile(path, (line) => told.push(line));
  const line = `${'x'.repeat(999)}\n`;
  for (let i = 0; i < 200; i++) file.write(line);
  expect(told).toEqual([expect.stringContaining('the log file cannot be written')]);
  const lost = 200 - Math.floor(readSync(reader, Buffer.alloc(1_000_000)) / line.length);
  file.write(line);
  expect(told[1]).toContain(`${lost} lines were lost`);
});
