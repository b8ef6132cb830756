import { spawnSync } from 'node:child_process';
import { closeSync, fstatSync, openSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { createLog, isJournalStream, priorityPrefix } from '../../../src/daemon/process/log.ts';
import { formatLogLine } from '../../../src/daemon/process/log-line.ts';
import { ConfigurationError } from '../../../src/daemon/settings/problem.ts';

const EVIL = 'a\u001b[2Jb\u009b31mc\u0007d\u202ee';
const CLEAN = 'a\ufffd[2Jb\ufffd31mc\ufffdd\ufffde';

describe('formatLogLine', () => {
  test('passes no control character of a log line to the terminal', () => {
    const line = JSON.stringify({
      time: '2026-01-01T00:00:00.000Z',
      level: EVIL,
      msg: EVIL,
      user: EVIL,
      detail: { [EVIL]: EVIL },
      err: { stack: `Error: ${EVIL}\n    at one`, cause: { message: EVIL } },
    });
    const shown = formatLogLine(line, { color: false });
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(shown).toContain(`user=${CLEAN}`);
    expect(shown).toContain(`Error: ${CLEAN}\n`);
  });

  test('keeps a text with line ends on one line, so that it cannot look like another entry', () => {
    const line = JSON.stringify({ level: 'info', msg: 'one\n00:00:00.000 FATAL two', user: 'a\r\nb' });
    expect(formatLogLine(line, { color: false }).trimEnd().split('\n')).toHaveLength(1);
  });

  test('says that the times are in UTC', () => {
    const line = JSON.stringify({ level: 'info', time: '2026-01-02T03:04:05.678Z', msg: 'x' });
    expect(formatLogLine(line, { color: false, date: true })).toBe('2026-01-02 03:04:05.678Z INFO  x\n');
    expect(formatLogLine(line, { color: false })).toBe('03:04:05.678Z INFO  x\n');
  });

  test('has its fields on lines of their own if it is longer than the terminal is wide', () => {
    const time = '2026-01-02T03:04:05.678Z';
    const line = JSON.stringify({ level: 'info', time, msg: 'answered', channel: 'sse', took_ms: 20 });
    const options = { color: false, beside: () => 'the words of a code' };
    const whole = '03:04:05.678Z INFO  answered channel=sse took_ms=20  # the words of a code';
    expect(formatLogLine(line, { ...options, width: whole.length })).toBe(`${whole}\n`);
    expect(formatLogLine(line, { ...options, width: 24 })).toBe(
      '03:04:05.678Z INFO  answered\n    channel=sse\n    took_ms=20\n    # the words of a\n    code\n',
    );
  });

  test('also cleans lines that are not JSON', () => {
    expect(formatLogLine(EVIL, { color: false })).toBe(`${CLEAN}\n`);
  });
});

describe('a logged error', () => {
  const told = (err: Error) => {
    let text = '';
    const writeError = (bytes: Uint8Array) => {
      text += Buffer.from(bytes);
      return bytes.length;
    };
    createLog({ level: 'ERROR', format: 'TEXT', writeError }).error({ err }, 'it failed');
    return text.split('\n').slice(1);
  };

  test('has its stack', () => {
    expect(told(new Error('broken')).join('\n')).toMatch(/^ {2}Error: broken\n {6}at /);
  });

  test('has no stack if it is a mistake in the configuration', () => {
    const problem = { setting: 'PORT', value: '0', source: '.env', problem: 'is less than 1', right: 'more' };
    expect(told(new ConfigurationError([problem]))).toEqual([
      '  the configuration has one problem:',
      '  ',
      '    PORT=0 (.env)',
      '      wrong: is less than 1',
      '      right: more',
      '',
    ]);
  });
});

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
    expect(priorityPrefix(line)).toBe(`<${priority}>`);
  });
});

it.each([
  ['AUTO', /^\{"level":"warn",.*"person":"ada","msg":"late"\}\n$/],
  ['JSON', /^\{"level":"warn",.*"msg":"late"\}\n$/],
  ['TEXT', /^\d\d:\d\d:\d\d\.\d{3}Z WARN {2}late person=ada\n$/],
])(
  'with LOG_FORMAT=%s, standard error that is no terminal gets lines of that form, without colors',
  (format, form) => {
    const log = new URL('../../../src/daemon/process/log.ts', import.meta.url);
    const script = `import { createLog } from '${log}'; createLog({ level: 'info', format: '${format}' }).warn({ person: 'ada' }, 'late');`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect(stderr).toMatch(form);
  },
);
