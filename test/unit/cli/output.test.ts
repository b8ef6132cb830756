import { styleText } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Column, createOutput } from '../../../src/cli/output.ts';
import { printable, withoutControls } from '../../../src/daemon/texts/printable.ts';
import { capture, capturedOutput } from './captured-output.ts';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';

interface Item {
  id: string;
  count: number;
  at: number | null;
  why: string | null;
}

const COLUMNS: readonly Column<Item>[] = [
  { title: 'ID', json: 'id' },
  { title: 'COUNT', json: 'count', align: 'right' },
  { title: 'AT', json: 'at', isTime: true },
  { title: 'WHY', json: 'why', narrow: 'wrap' },
  { json: 'owner', value: ({ id }) => ({ sub: id }) },
];
const ITEM: Item = { id: '1', count: 7, at: null, why: 'because' };
const ITEMS: readonly Item[] = [
  { ...ITEM, at: Date.UTC(2026, 0, 15, 12) },
  { id: '222', count: 10, at: null, why: null },
];

/** Zero width, a soft hyphen, a blank that is a letter, a variant of nothing, a character of tags. */
const HIDDEN = [
  ...['\u200b', '\u200c', '\u200d', '\u2060', '\u00ad', '\u034f'],
  ...['\u3164', '\ufe0f', '\u{e0061}', '\u200b\u200d\u2062'],
];
/** Emoji, a ligature that is prevented, a conjunct, a word break, a name with a rare form of a character. */
const SEEN = [...['👩🏽‍💻 ❤️ 🏳️‍🌈 ☎\ufe0e 1️⃣', 'می\u200cخواهم', 'क्\u200dष', 'ស្រី\u200bស្អាត'], '葛\u{e0100}城'];

/** The output on a terminal of this width. */
function terminal(columns: number) {
  return createOutput({
    json: false,
    stdout: capture({ columns }),
    stderr: capture(),
    env: { NO_COLOR: '1' },
  });
}

describe('the output of a command', () => {
  it('prints one JSON document with --json, and never creates the text', () => {
    const { out, stdout } = capturedOutput({ json: true });
    out.data([{ id: 1 }], () => {
      throw new Error('not created');
    });
    expect(JSON.parse(stdout.text)).toEqual([{ id: 1 }]);
    expect(stdout.text).toMatch(/\n$/);
  });

  it('prints the text without --json, with a line end', () => {
    const { out, stdout } = capturedOutput();
    out.data({ id: 1 }, () => 'one');
    expect(stdout.text).toBe('one\n');
  });

  it('replaces the control and direction characters of any text, wherever it comes from', () => {
    const { out, stdout, stderr } = capturedOutput();
    const text = 'acts for alice\u202egro\u2066.\u061c\u{1b}[31m\u{9b}2J\u2028\r\n\tnext';
    out.data({ text }, () => text);
    out.note(text);
    const safe = 'acts for alice\ufffdgro\ufffd.\ufffd\ufffd[31m\ufffd2J\ufffd\ufffd\n\tnext\n';
    expect([stdout.text, stderr.text]).toEqual([safe, safe]);
  });

  it('keeps the styles that commands use on a terminal, and no other sequence', () => {
    const stdout = capture({ columns: 80 });
    const out = createOutput({ json: false, stdout, stderr: capture(), env: {} });
    out.data({}, () => `${styleText('bold', 'ID', { validateStream: false })} \u{1b}[8mhidden \u{1b}[2Jgone`);
    expect(stdout.text).toBe('\u{1b}[1mID\u{1b}[22m \ufffd[8mhidden \ufffd[2Jgone\n');
  });

  it('prints nothing for an empty text', () => {
    const { out, stdout } = capturedOutput();
    out.data([], () => '');
    expect(stdout.text).toBe('');
  });

  it('masks tokens in text, in JSON and in notes', () => {
    for (const json of [true, false]) {
      const { out, stdout, stderr } = capturedOutput({ json });
      out.data({ said: TOKEN }, () => `said ${TOKEN}`);
      out.note(`noted ${TOKEN}`);
      expect(stdout.text).toContain('[token]');
      expect(stdout.text + stderr.text).not.toContain(TOKEN);
    }
  });

  it('escapes control characters in JSON without changing its meaning', () => {
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

  it('prints a list as a table, or as JSON with ISO times', () => {
    const text = capturedOutput();
    text.out.list(COLUMNS, ITEMS, 'None.');
    expect(text.stdout.text).toBe(
      'ID   COUNT  AT                        WHY\n1        7  2026-01-15T12:00:00.000Z  because\n222     10\n',
    );
    const json = capturedOutput({ json: true });
    json.out.list(COLUMNS, ITEMS, 'None.');
    expect(JSON.parse(json.stdout.text)).toEqual([
      { id: '1', count: 7, at: '2026-01-15T12:00:00.000Z', why: 'because', owner: { sub: '1' } },
      { id: '222', count: 10, at: null, why: null, owner: { sub: '222' } },
    ]);
    expect(text.stderr.text + json.stderr.text).toBe('');
  });

  it('says on stderr that a list is empty', () => {
    const { out, stdout, stderr } = capturedOutput();
    out.list(COLUMNS, [], 'None.');
    expect([stdout.text, stderr.text]).toEqual(['', 'None.\n']);
  });

  it('prints the details of an item without its empty values', () => {
    expect(capturedOutput().out.details(COLUMNS, { id: 'a', count: 1, at: null, why: null })).toBe(
      'ID     a\nCOUNT  1\n',
    );
  });

  const WORDS = 'a reason that is much too long for the line';

  it('neither wraps nor cuts text if stdout is not a terminal', () => {
    expect(capturedOutput().out.table(COLUMNS, [{ ...ITEM, why: WORDS.repeat(9) }])).toContain(
      WORDS.repeat(9),
    );
  });

  it('has no heading of a table without items', () => {
    expect(terminal(80).table(COLUMNS, [])).toBe('');
  });

  it('wraps a column to the width of a terminal', () => {
    expect(terminal(46).table(COLUMNS, [{ ...ITEM, why: WORDS }])).toBe(
      [
        'ID  COUNT  AT  WHY',
        '1       7      a reason that is much too long',
        '               for the line',
        '',
      ].join('\n'),
    );
  });

  it('aligns columns with characters that are two columns wide', () => {
    const items = [
      { ...ITEM, id: '注文', why: '東京' },
      { ...ITEM, id: '2222' },
    ];
    expect(terminal(80).table(COLUMNS, items)).toBe(
      'ID    COUNT  AT  WHY\n注文      7      東京\n2222      7      because\n',
    );
  });

  it('moves the last column below its row if the terminal is narrower', () => {
    expect(terminal(30).table(COLUMNS, [{ ...ITEM, why: WORDS }])).toBe(
      ['ID  COUNT  AT', '1       7', '    a reason that is much too', '    long for the line', ''].join('\n'),
    );
  });

  it('prints a block of lines for each item if the terminal is too narrow for a table', () => {
    const id = 'an-id-that-people-copy-and-that-stays-whole';
    expect(terminal(30).table(COLUMNS, [{ ...ITEM, id }, ITEM])).toBe(
      `ID     ${id}\nCOUNT  7\nWHY    because\n\nID     1\nCOUNT  7\nWHY    because\n`,
    );
  });

  it('has the texts of the table in such a block', () => {
    const columns: readonly Column<Item>[] = [
      { title: 'ID', json: 'id' },
      { title: 'WHY', json: 'why', short: ({ why }) => why ?? 'nobody knows' },
    ];
    const items = [{ ...ITEM, why: null }];
    expect(terminal(80).table(columns, items)).toBe('ID  WHY\n1   nobody knows\n');
    expect(terminal(10).table(columns, items)).toBe('ID   1\nWHY  nobody knows\n');
  });

  it('cuts a column that may be cut, but not to fewer than 20 characters', () => {
    const columns = [{ title: 'USER', text: (user: string) => user, narrow: 'cut' }] as const;
    expect(terminal(30).table(columns, ['u'.repeat(80)])).toBe(`USER\n${'u'.repeat(29)}…\n`);
    expect(terminal(10).table(columns, ['u'.repeat(80)])).toBe(`USER  ${'u'.repeat(80)}\n`);
  });

  it('assumes 80 columns for a terminal that reports 0', () => {
    const items = [{ ...ITEM, why: WORDS.repeat(3) }];
    expect(terminal(0).table(COLUMNS, items)).toBe(terminal(80).table(COLUMNS, items));
  });

  it('uses color on a terminal, unless NO_COLOR is set', () => {
    const terminal = capture({ columns: 80 });
    expect(createOutput({ json: false, stdout: terminal, stderr: capture(), env: {} }).color).toBe(true);
    expect(
      createOutput({ json: false, stdout: terminal, stderr: capture(), env: { NO_COLOR: '1' } }).color,
    ).toBe(false);
    expect(createOutput({ json: false, stdout: capture(), stderr: capture(), env: {} }).color).toBe(false);
  });

  it('replaces control characters', () => {
    expect(printable('a\x1b[31mred\x07\nnext\u202etxt')).toBe('a\ufffd[31mred\ufffd next\ufffdtxt');
    // Some terminals begin a new line at these invisible characters.
    expect(withoutControls('one\u2028two\u2029three')).toBe('one\ufffdtwo\ufffdthree');
  });

  it('shows where a name has characters that nobody sees, in tables, details, notes and JSON', () => {
    const columns: readonly Column<{ id: string }>[] = [{ title: 'ID', json: 'id' }];
    for (const hidden of HIDDEN) {
      const shown = `a${'\ufffd'.repeat([...hidden].length)}da`;
      const { out, stdout, stderr } = capturedOutput();
      const item = { id: `a${hidden}da` };
      out.list(columns, [{ id: 'ada' }, item], 'none');
      out.data(item, () => out.details(columns, item));
      out.note(item.id);
      expect(stdout.text).toBe(`ID\nada\n${shown}\nID  ${shown}\n`);
      expect(stderr.text).toBe(`${shown}\n`);
      const { out: json, stdout: printed } = capturedOutput({ json: true });
      json.data(item, () => '');
      expect(printed.text).not.toContain(hidden);
      expect(JSON.parse(printed.text)).toEqual(item);
    }
  });

  it.each(SEEN)('keeps the joiners and the variants that people see in %j', (text) => {
    expect([printable(text), withoutControls(text)]).toEqual([text, text]);
    const { out, stdout } = capturedOutput();
    out.data(text, () => text);
    expect(stdout.text).toBe(`${text}\n`);
  });
});
