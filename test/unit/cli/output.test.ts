import { describe, expect, it } from 'vitest';
import { createOutput } from '../../../src/cli/output.ts';
import { printable, withoutControls } from '../../../src/daemon/printable.ts';
import { capture, capturedOutput } from './captured-output.ts';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';

describe('output', () => {
  it('prints one JSON document with --json, and never asks for the text', () => {
    const { out, stdout } = capturedOutput({ json: true });
    out.data([{ id: 1 }], () => {
      throw new Error('not asked for');
    });
    expect(JSON.parse(stdout.text)).toEqual([{ id: 1 }]);
    expect(stdout.text).toMatch(/\n$/);
  });

  it('prints the text without --json, ended by a line end', () => {
    const { out, stdout } = capturedOutput();
    out.data({ id: 1 }, () => 'one');
    expect(stdout.text).toBe('one\n');
  });

  it('prints nothing for an empty text', () => {
    const { out, stdout } = capturedOutput();
    out.data([], () => '');
    expect(stdout.text).toBe('');
  });

  it('masks tokens in data of both forms and in notes', () => {
    for (const json of [true, false]) {
      const { out, stdout, stderr } = capturedOutput({ json });
      out.data({ said: TOKEN }, () => `said ${TOKEN}`);
      out.note(`noted ${TOKEN}`);
      expect(stdout.text).toContain('[token]');
      expect(stdout.text + stderr.text).not.toContain(TOKEN);
    }
  });

  it('escapes in JSON what a terminal would obey, without changing what is said', () => {
    const { out, stdout } = capturedOutput({ json: true });
    const said = 'a\u001b[2Jb\u009b31m\u007f\u202ec';
    out.data({ said }, () => '');
    expect(stdout.text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(JSON.parse(stdout.text)).toEqual({ said });
  });

  it('writes notes to stderr only', () => {
    const { out, stdout, stderr } = capturedOutput();
    out.note('by the way');
    expect([stdout.text, stderr.text]).toEqual(['', 'by the way\n']);
  });

  it('aligns columns and leaves no blanks at line ends', () => {
    const { out } = capturedOutput();
    expect(
      out.table(
        ['ID', 'USER'],
        [
          ['1', 'alice'],
          ['222', 'b'],
        ],
      ),
    ).toBe('ID   USER\n1    alice\n222  b\n');
  });

  it('cuts no cell where stdout is no terminal', () => {
    const { out } = capturedOutput();
    expect(out.table(['ID'], [['x'.repeat(500)]])).toContain('x'.repeat(500));
  });

  it('cuts the widest column to the width of a terminal', () => {
    const out = createOutput({
      json: false,
      stdout: capture({ columns: 30 }),
      stderr: capture(),
      env: { NO_COLOR: '1' },
    });
    const [head, row] = out
      .table(['ID', 'TEXT'], [['short-id', 'y'.repeat(80)]])
      .trimEnd()
      .split('\n');
    expect(head).toBe('ID        TEXT');
    expect(row).toBe(`short-id  ${'y'.repeat(19)}…`);
  });

  it('takes a terminal that says it is 0 columns wide for one that does not say it', () => {
    const tableAt = (columns: number) =>
      createOutput({ json: false, stdout: capture({ columns }), stderr: capture(), env: {} }).table(
        ['TEXT'],
        [['z'.repeat(100)]],
      );
    expect(tableAt(0)).toBe(tableAt(80));
    expect(tableAt(0)).toContain('z'.repeat(79));
  });

  it('colours for a terminal, and not where NO_COLOR is set', () => {
    const terminal = capture({ columns: 80 });
    expect(createOutput({ json: false, stdout: terminal, stderr: capture(), env: {} }).colour).toBe(true);
    expect(
      createOutput({ json: false, stdout: terminal, stderr: capture(), env: { NO_COLOR: '1' } }).colour,
    ).toBe(false);
    expect(createOutput({ json: false, stdout: capture(), stderr: capture(), env: {} }).colour).toBe(false);
  });

  it('hands nothing to the terminal that could steer it', () => {
    expect(printable('a\x1b[31mred\x07\nnext\u202etxt')).toBe('a\ufffd[31mred\ufffd next\ufffdtxt');
    // What some terminals begin a line with, and no editor shows.
    expect(withoutControls('one\u2028two\u2029three')).toBe('one\ufffdtwo\ufffdthree');
  });
});
