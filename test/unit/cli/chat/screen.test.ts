import { describe, expect, it } from 'vitest';
import { Screen } from '../../../../src/cli/chat/screen.ts';
import { type Captured, capture } from '../captured-output.ts';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiIsImVtYWlsIjoiYUBiLmMifQ.c2lnbmF0dXJl';

function screen(terminal = false): { shown: Screen; stdout: Captured; stderr: Captured } {
  const of = terminal ? { columns: 30 } : undefined;
  const [stdout, stderr] = [capture(of), capture(of)];
  return { shown: new Screen(stdout, stderr, { NO_COLOR: '1' }), stdout, stderr };
}

describe('the text of an answer', () => {
  it('keeps the joiners of a character that arrives in pieces, and no other', () => {
    const { shown, stdout } = screen(true);
    for (const piece of [
      '👩',
      '\u200d',
      '\ud83d',
      '\udcbb می',
      '\u200c',
      'خ',
      ' a',
      '\u200d',
      'b❤',
      '\ufe0f',
    ])
      shown.text(piece);
    shown.endAnswer();
    expect(stdout.text).toBe('👩\u200d💻 می\u200cخ a\ufffdb❤\ufe0f\n');
  });
});

describe('an answer on the screen', () => {
  it('is printed unchanged, with a line end after it', () => {
    const { shown, stdout, stderr } = screen();
    for (const piece of ['One\n\n- t', 'wo\tthree']) shown.text(piece);
    shown.endAnswer();
    expect([stdout.text, stderr.text]).toEqual(['One\n\n- two\tthree\n', '']);
  });

  it('has exactly one line end, or none if it is empty', () => {
    const { shown, stdout } = screen();
    shown.text('One\n');
    shown.endAnswer();
    shown.endAnswer();
    expect(stdout.text).toBe('One\n');
  });

  it('shows a character correctly even if it arrives in two pieces', () => {
    const { shown, stdout } = screen();
    for (const unit of 'a🙂b'.split('')) shown.text(unit);
    shown.endAnswer();
    expect(stdout.text).toBe('a🙂b\n');
  });

  it('cannot control the terminal', () => {
    const { shown, stdout } = screen();
    shown.text('\u{1b}[2J\u{1b}]0;title\u{7}x\rover\u{9b}31m\u{202e}red\u{8}\n');
    shown.endAnswer();
    expect(stdout.text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(stdout.text).toContain('red');
  });

  it('never shows a token, even if it arrives in two pieces', () => {
    for (let cut = 1; cut < TOKEN.length; cut++) {
      const { shown, stdout } = screen();
      shown.text(`It is ${TOKEN.slice(0, cut)}`);
      shown.text(`${TOKEN.slice(cut)} indeed`);
      shown.endAnswer();
      expect(stdout.text, `cut at ${cut}`).toBe('It is [token] indeed\n');
    }
  });
});

describe('the status line', () => {
  it('is shown only on a terminal', () => {
    const { shown, stderr } = screen();
    shown.status('get_user…');
    expect(stderr.text).toBe('');
  });

  it('is removed when the answer continues or the status changes', () => {
    const { shown, stdout, stderr } = screen(true);
    shown.status('Waiting…');
    shown.status('get_user…');
    shown.text('Hello');
    shown.endAnswer();
    expect(stderr.text).toBe('Waiting…\r\u{1b}[Kget_user…\r\u{1b}[K');
    expect(stdout.text).toBe('Hello\n');
  });

  it('is on a separate line from the answer', () => {
    const { shown, stdout } = screen(true);
    shown.text('Let me look.');
    shown.status('get_user…');
    shown.text('You are Ada.');
    shown.endAnswer();
    expect(stdout.text).toBe('Let me look.\nYou are Ada.\n');
  });

  it('is cut to the width of the terminal, and cannot move the cursor', () => {
    const { shown, stderr } = screen(true);
    shown.status(`\u{1b}[2J${'x'.repeat(50)}\nsecond`);
    expect(stderr.text).toBe(`\u{fffd}[2J${'x'.repeat(25)}`);
  });

  it('is removed before a note is shown', () => {
    const { shown, stderr } = screen(true);
    shown.status('Waiting…');
    shown.note('(stopped)');
    expect(stderr.text).toBe('Waiting…\r\u{1b}[K(stopped)\n');
  });
});
