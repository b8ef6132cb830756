import { appendFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { follow, readSince, tail } from '../../../src/cli/log-file.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let path: string;
const all = { matches: () => true, unfinished: true };

beforeEach(() => {
  folder = temporaryFolder('log');
  path = join(folder, 'agentd.log');
});

describe('tail', () => {
  it('returns the last lines, oldest first', async () => {
    writeFileSync(path, 'one\ntwo\nthree\n');
    expect(await tail(path, { ...all, count: 2 })).toEqual({ lines: ['two', 'three'], more: true, end: 14 });
  });

  it('returns all lines of a shorter file, and no lines of an empty file', async () => {
    writeFileSync(path, 'one\n');
    expect(await tail(path, { ...all, count: 50 })).toEqual({ lines: ['one'], more: false, end: 4 });
    writeFileSync(path, '');
    expect(await tail(path, { ...all, count: 50 })).toEqual({ lines: [], more: false, end: 0 });
  });

  it('returns an unfinished last line if requested, and an `end` before that line', async () => {
    writeFileSync(path, 'one\ntw');
    expect(await tail(path, { ...all, count: 9 })).toEqual({ lines: ['one', 'tw'], more: false, end: 4 });
    expect(await tail(path, { ...all, unfinished: false, count: 9 })).toEqual({
      lines: ['one'],
      more: false,
      end: 4,
    });
  });

  it('finds lines across the chunks that it reads, without damaging characters', async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `${index} ${'é€𝄞'.repeat(20)}`);
    writeFileSync(path, `${lines.join('\n')}\n`);
    expect((await tail(path, { ...all, count: 5000 })).lines).toEqual(lines);
  });

  it('finds as many matching lines as requested, however far back they are', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}`);
    writeFileSync(path, `${lines.join('\n')}\n`);
    const { lines: found } = await tail(path, {
      ...all,
      count: 2,
      matches: (line) => /^line [12]?7$/.test(line),
    });
    expect(found).toEqual(['line 17', 'line 27']);
  });

  it('stops reading when no earlier line can match', async () => {
    writeFileSync(path, 'match\nold\nmatch\n');
    const wanted = {
      ...all,
      count: 9,
      matches: (line: string) => line === 'match',
      enough: (line: string) => line === 'old',
    };
    expect((await tail(path, wanted)).lines).toEqual(['match']);
  });

  it('uses a limited amount of memory for a file without line ends', async () => {
    writeFileSync(path, 'x'.repeat(3_000_000));
    const { lines } = await tail(path, { ...all, count: 1 });
    expect(lines[0]?.length).toBe(1_048_576);
  });

  it('rejects with ENOENT if there is no file', async () => {
    await expect(tail(path, { ...all, count: 1 })).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('readSince', () => {
  const isOld = (line: string) => line.startsWith('old');
  async function since(text: string, unfinished = true) {
    writeFileSync(path, text);
    const lines: string[] = [];
    const end = await readSince(path, { unfinished, isOld }, (line) => lines.push(line));
    return { lines, end };
  }

  it('passes on all lines after the last old line, in order, without damaging characters', async () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `${index} ${'é€𝄞'.repeat(20)}`);
    expect((await since(`early\nold\n${lines.join('\n')}\n`)).lines).toEqual(lines);
  });

  it('passes on the whole file if no line is old, and nothing if the last line is old', async () => {
    expect(await since('one\ntwo\n')).toEqual({ lines: ['one', 'two'], end: 8 });
    expect(await since('one\nold\n')).toEqual({ lines: [], end: 8 });
    expect(await since('')).toEqual({ lines: [], end: 0 });
  });

  it('passes on an unfinished last line if requested, and returns the position before that line', async () => {
    expect(await since('one\ntw')).toEqual({ lines: ['one', 'tw'], end: 4 });
    expect(await since('one\ntw', false)).toEqual({ lines: ['one'], end: 4 });
  });
});

describe('follow', () => {
  async function withFollower(
    from: number,
    work: (next: () => Promise<string>) => Promise<void>,
  ): Promise<void> {
    const stop = new AbortController();
    const lines = follow(path, from, stop.signal);
    try {
      await work(async () => {
        const { value, done } = await lines.next();
        if (done) throw new Error('the follower ended');
        return value;
      });
    } finally {
      stop.abort();
      await lines.return(undefined);
    }
  }

  it('returns complete lines as they are appended after the given position', async () => {
    writeFileSync(path, 'old\n');
    await withFollower(4, async (next) => {
      appendFileSync(path, 'new\nhal');
      expect(await next()).toBe('new');
      const half = next();
      appendFileSync(path, 'f\n');
      expect(await half).toBe('half');
    });
  });

  it('continues in the new file after a rotation, and loses no line of the old file', async () => {
    writeFileSync(path, '');
    await withFollower(0, async (next) => {
      appendFileSync(path, '1\n');
      expect(await next()).toBe('1');
      renameSync(path, `${path}.1`);
      appendFileSync(`${path}.1`, '2\n');
      writeFileSync(path, '3\n');
      expect(await next()).toBe('2');
      expect(await next()).toBe('3');
      appendFileSync(path, '4\n');
      expect(await next()).toBe('4');
    });
  });

  it('starts again at the beginning if the file was truncated', async () => {
    writeFileSync(path, 'a long first line\n');
    await withFollower(18, async (next) => {
      truncateSync(path, 0);
      appendFileSync(path, 'b\n');
      expect(await next()).toBe('b');
    });
  });

  it('waits for a file that does not exist yet', async () => {
    await withFollower(0, async (next) => {
      const line = next();
      writeFileSync(path, 'here\n');
      expect(await line).toBe('here');
    });
  });

  it('ends when its signal aborts', async () => {
    writeFileSync(path, '');
    const stop = new AbortController();
    const ended = follow(path, 0, stop.signal).next();
    stop.abort();
    expect(await ended).toEqual({ value: undefined, done: true });
  });
});
