import { closeSync, fstatSync, openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isJournalStream, withPriority } from '../../../src/daemon/process/log.ts';

describe('the journal of systemd', () => {
  it('is recognized by the device and inode of standard error', () => {
    const { dev, ino } = fstatSync(2);
    expect(isJournalStream(`${dev}:${ino}`)).toBe(true);
    const other = openSync('/proc/self/status', 'r');
    const elsewhere = fstatSync(other);
    closeSync(other);
    expect(isJournalStream(`${elsewhere.dev}:${elsewhere.ino}`)).toBe(false);
    expect(isJournalStream('')).toBe(false);
    expect(isJournalStream(undefined)).toBe(false);
  });

  it.each([
    ['fatal', 2],
    ['error', 3],
    ['warn', 4],
    ['info', 6],
    ['debug', 7],
  ])('gets each line with level %s with the priority %d', (level, priority) => {
    const line = `${JSON.stringify({ level, msg: '"level":"error"' })}\n`;
    expect(withPriority(line)).toBe(`<${priority}>${line}`);
  });
});
