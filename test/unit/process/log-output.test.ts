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
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { LAST_LINES_MS, LogFile, LogOutput, QUEUE_MAX } from '../../../src/daemon/process/log-output.ts';
import { ConfigurationError } from '../../../src/daemon/settings/problem.ts';

/** A reader of standard error. It accepts `room` bytes, and then refuses like a full pipe. */
class Reader {
  room = Number.POSITIVE_INFINITY;
  failure: string | null = null;
  #taken: Uint8Array[] = [];

  readonly writeSome = (bytes: Uint8Array): number => {
    if (this.failure !== null) throw Object.assign(new Error(this.failure), { code: this.failure });
    if (this.room === 0) throw Object.assign(new Error('full'), { code: 'EAGAIN' });
    const part = Uint8Array.from(bytes.subarray(0, this.room));
    this.#taken.push(part);
    this.room -= part.length;
    return part.length;
  };

  get text(): string {
    return Buffer.concat(this.#taken).toString();
  }

  get lines(): string[] {
    return this.text.split('\n').slice(0, -1);
  }
}

let reader: Reader;
let output: LogOutput;

beforeEach(() => {
  vi.useFakeTimers();
  reader = new Reader();
  output = new LogOutput(reader.writeSome, (dropped) => `dropped ${dropped}\n`);
  return () => void vi.useRealTimers();
});

const LINE = `${'x'.repeat(1023)}\n`;
const FITTING = QUEUE_MAX / LINE.length;

describe('the output of the log', () => {
  test('has written a line by the time that the call returns', () => {
    output.write('one\n');
    expect(reader.text).toBe('one\n');
  });

  test('keeps the bytes that a full pipe does not accept, and writes them later, completely and in order', () => {
    reader.room = 5;
    for (const line of ['first\n', 'sécond\n', 'third\n']) output.write(line);
    expect(reader.text).toBe('first');
    for (let byte = 0; byte < 20; byte++) {
      reader.room++;
      vi.advanceTimersByTime(250);
    }
    expect(reader.text).toBe('first\nsécond\nthird\n');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('keeps at most 1 MiB, drops the newest lines, and reports their number when the reader has caught up', () => {
    reader.room = 0;
    for (let i = 0; i < FITTING + 7; i++) output.write(LINE);
    expect(output.queued).toBe(QUEUE_MAX);

    // Even if there is room for one line, no later line may be written before the report about the dropped lines.
    reader.room = LINE.length;
    vi.advanceTimersByTime(250);
    output.write('too early\n');
    reader.room = Number.POSITIVE_INFINITY;
    vi.advanceTimersByTime(250);
    output.write('back\n');
    expect(reader.lines.slice(FITTING)).toEqual(['dropped 8', 'back']);
    expect(reader.lines.slice(0, FITTING)).toEqual(Array(FITTING).fill(LINE.trimEnd()));
  });

  test('reports the number of dropped lines even if no further line is written', () => {
    reader.room = 0;
    for (let i = 0; i < FITTING + 1; i++) output.write(LINE);
    reader.room = Number.POSITIVE_INFINITY;
    vi.advanceTimersByTime(250);
    expect(reader.lines.at(-1)).toBe('dropped 1');
  });

  test('tries to write to a stalled reader at growing intervals of at most a quarter of a second', () => {
    const asked = vi.fn(() => {
      throw Object.assign(new Error('full'), { code: 'EAGAIN' });
    });
    output = new LogOutput(asked, String);
    output.write('one\n');
    vi.advanceTimersByTime(10_000);
    expect(asked.mock.calls.length).toBeGreaterThan(40);
    expect(asked.mock.calls.length).toBeLessThan(50);
  });

  test('drops and counts lines that cannot be written, and continues when writing is possible again', () => {
    reader.failure = 'ENOSPC';
    for (const line of ['lost\n', 'lost too\n']) output.write(line);
    expect(output.queued).toBe(0);
    reader.failure = null;
    output.write('again\n');
    expect(reader.lines).toEqual(['dropped 2', 'again']);
  });

  test('starts a new line after an incomplete line', () => {
    reader.room = 3;
    output.write('a line\n');
    reader.failure = 'EIO';
    vi.advanceTimersByTime(10);
    reader.failure = null;
    reader.room = Number.POSITIVE_INFINITY;
    output.write('whole\n');
    expect(reader.lines).toEqual(['a l', 'dropped 1', 'whole']);
  });
});

describe('the last lines of a process that ends', () => {
  beforeEach(() => void vi.useRealTimers());

  /** Gives the output a reader that accepts `atOnce` bytes if `takes` returns true for them, and otherwise nothing. */
  function readBy(takes: (bytes: Uint8Array) => boolean, atOnce: number): void {
    output = new LogOutput(
      (bytes) => {
        reader.room = takes(bytes) ? atOnce : 0;
        return reader.writeSome(bytes);
      },
      (dropped) => `dropped ${dropped}\n`,
    );
  }

  test('wait for a slow reader, and are written after all earlier lines', () => {
    let asked = 0;
    readBy(() => asked++ % 3 === 2, 4);
    output.write('before\n');
    output.beginLastLines();
    output.write('fatal\n');
    expect(reader.text).toBe('before\nfatal\n');
  });

  test('replace waiting lines if necessary, so that a reader that continues late still gets them', () => {
    readBy((bytes) => !String(bytes).startsWith('one'), 100);
    for (const line of ['one\n', 'two\n']) output.write(line);
    output.beginLastLines();
    output.write('fatal\n');
    expect(reader.lines).toEqual(['dropped 2', 'fatal']);
  });

  test('wait only for a limited time', () => {
    readBy(() => false, 0);
    output.write('one\n');
    output.beginLastLines();
    const began = performance.now();
    output.write('fatal\n');
    expect(performance.now() - began).toBeLessThan(3 * LAST_LINES_MS);
  });
});

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
