import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LogFile } from '../../../src/daemon/process/log-output.ts';
import { ConfigurationError } from '../../../src/daemon/settings/problem.ts';

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

test('only its owner can read a log file, whatever the umask allows, also after rotation', () => {
  const before = process.umask(0o000);
  onTestFinished(() => void process.umask(before));
  const path = join(folder(), 'agentd.log');
  const file = new LogFile(path, () => expect.unreachable());
  const modeOf = () => statSync(path).mode & 0o777;
  expect(modeOf()).toBe(0o600);
  renameSync(path, `${path}.1`);
  expect(file.reopen()).toBe(true);
  expect(modeOf()).toBe(0o600);
});

test('a file that an operator has made for the log keeps its mode', () => {
  const path = join(folder(), 'agentd.log');
  writeFileSync(path, '');
  chmodSync(path, 0o640);
  new LogFile(path, () => expect.unreachable()).write('one\n');
  expect(statSync(path).mode & 0o777).toBe(0o640);
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
