import { describe, expect, it } from 'vitest';
import { readReceipts } from '../../../../src/channel/event-stream.ts';
import { questionIn } from '../../../../src/cli/chat/question.ts';
import { TerminalView } from '../../../../src/cli/chat/terminal-view.ts';
import { randomFrom, type SeededRandom } from '../../../support/chance.ts';
import { VirtualTerminal } from '../../../support/virtual-terminal.ts';

const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiIsImVtYWlsIjoiYUBiLmMifQ.c2lnbmF0dXJl';

function viewOn(terminal: VirtualTerminal): TerminalView {
  return new TerminalView(terminal, (email) => (email === 'ada@example.com' ? 'Ada Lovelace' : null), {
    NO_COLOR: '1',
  });
}

/** The pieces of a text, cut at random places. */
function pieces(text: string, random: SeededRandom): string[] {
  const cut: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = 1 + random.below(12);
    cut.push(text.slice(at, at + length));
    at += length;
  }
  return cut;
}

const ANSWER = `# Orders

You have **two** orders, and this line is longer than the terminal, 🙂 so it wraps:

1. one [link][1]

   more
2. two

\`\`\`
code

code
\`\`\`

| Item | Price |
|-|-|
| Engine | £17,470 |

2026 was good.

[1]: https://example.com`;

describe('an answer on a terminal', () => {
  it('is below an empty line, and shows the tools by their titles', () => {
    const terminal = new VirtualTerminal(50);
    const view = viewOn(terminal);
    view.status('Waiting…');
    expect(terminal.text).toBe('\nWaiting…');
    const tool = { name: 'shop_listOrders', title: 'My orders', needs_sign_in: false };
    view.tool({ ...tool, status: 'started' });
    expect(terminal.text).toContain('… My orders');
    view.tool({ ...tool, status: 'completed' });
    view.tool({ name: 'shop_cancelOrder', title: 'Cancel order', status: 'failed', needs_sign_in: true });
    view.tool({ name: 'other', title: 'Other', status: 'failed', needs_sign_in: false });
    view.text('Two orders.');
    view.endAnswer();
    expect(terminal.text).toBe(
      [
        '',
        '✓ My orders',
        '! Cancel order: sign in first, with /sign-in',
        '✗ Other: that did not work',
        '',
        'Two orders.',
        '\n',
      ].join('\n'),
    );
  });

  it('looks the same wherever its pieces are cut', () => {
    const whole = new VirtualTerminal(40, 100);
    const view = viewOn(whole);
    view.text(ANSWER);
    view.endAnswer();
    expect(whole.text).toContain('1. one link (https://example.com)');
    for (let seed = 1; seed <= 6; seed++) {
      const random = randomFrom(seed);
      const terminal = new VirtualTerminal(40, 100);
      const inPieces = viewOn(terminal);
      for (const piece of pieces(ANSWER, random)) inPieces.text(piece);
      inPieces.endAnswer();
      expect(terminal.text, `seed ${seed}`).toBe(whole.text);
    }
  });

  it('loses no line on a small screen, or when the terminal becomes narrower', () => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index} of the text`);
    const terminal = new VirtualTerminal(40, 5);
    const view = viewOn(terminal);
    for (const [index, line] of lines.entries()) {
      for (const piece of pieces(`${line}\n`, randomFrom(index + 1))) view.text(piece);
      if (index === 15) terminal.columns = 30;
    }
    view.endAnswer();
    for (const line of lines) expect(terminal.text).toContain(line);
  });

  it('draws nothing again that has scrolled out of the screen', () => {
    const terminal = new VirtualTerminal(40, 5);
    const view = viewOn(terminal);
    view.text(Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n'));
    // All lines but the first would change. The terminal throws if the cursor leaves the screen.
    view.question(questionIn('q', { begins_at: 'line 0'.length, actions: [{ title: 'Cancel order' }] }));
    view.endAnswer();
    expect(terminal.text).toContain('line 24\n');
    expect(terminal.text).toContain('│ Cancel order');
  });

  it('never shows a token, even if it arrives in two pieces', () => {
    for (let cut = 1; cut < TOKEN.length; cut += 5) {
      const terminal = new VirtualTerminal(200);
      const view = viewOn(terminal);
      view.text(`It is ${TOKEN.slice(0, cut)}`);
      view.text(`${TOKEN.slice(cut)} indeed`);
      view.endAnswer();
      expect(terminal.text, `cut at ${cut}`).toContain('It is [token] indeed');
      expect(terminal.raw).not.toMatch(/eyJ/);
    }
  });

  it.each(['before', 'after'])('shows what was done that arrives %s its text with a sign instead', (when) => {
    const terminal = new VirtualTerminal(40);
    const view = viewOn(terminal);
    const lines = '\n\n- Cancel order 1004 – done\n- Cancel order 1005 – failed (status 409)';
    view.tool({ name: 'cancel', title: 'Cancel order', status: 'failed', needs_sign_in: false });
    view.text(when === 'after' ? `There.${lines}` : 'There.');
    view.receipts(
      readReceipts({
        begins_at: 8,
        actions: [
          { tool: 'cancel', summary: 'Cancel order 1004', outcome: 'done', status: 200 },
          { tool: 'cancel', summary: 'Cancel order 1005', outcome: 'failed', status: 409 },
          { tool: 'pay', summary: 'Pay the whole rest of the invoice', outcome: 'lost' },
        ],
      }),
    );
    if (when === 'before') view.text(lines);
    view.endAnswer();
    expect(terminal.text).toBe(
      [
        '',
        'There.',
        '',
        '✓ Cancel order 1004 – done',
        '✗ Cancel order 1005 – failed (status',
        '  409)',
        '? Pay the whole rest of the invoice –',
        '  it is not known whether this happened',
        '\n',
      ].join('\n'),
    );
  });

  it.each(['before', 'after'])('shows a question that arrives %s its text as a card instead', (when) => {
    const terminal = new VirtualTerminal(60);
    const view = viewOn(terminal);
    const lead = 'I can do that once you confirm it.';
    const text = '\n\nPlease confirm: Cancel order\n\nAnswer "yes" or "no".';
    view.text(when === 'after' ? `${lead}${text}` : lead);
    view.question(
      questionIn('q1', {
        begins_at: lead.length + 2,
        as: 'ada@example.com',
        expires_at: new Date(Date.now() + 15 * 60_000).toISOString(),
        actions: [
          { number: 1, title: 'Cancel order "1001"', details: [{ label: 'Reason', value: '"late"' }] },
        ],
      }),
    );
    if (when === 'before') view.text(text);
    view.endAnswer();
    // The daemon sends the question first, so that its text is never shown.
    if (when === 'before') expect(terminal.raw).not.toContain('Please confirm:');
    expect(terminal.text).toBe(
      [
        '',
        lead,
        '',
        '┌ Please confirm',
        '│ Cancel order "1001"',
        '│   Reason  "late"',
        '│ As Ada Lovelace (ada@example.com)',
        '└ y: Confirm, n: Decline',
        '\n',
      ].join('\n'),
    );
  });

  it.each([
    [{ TERM_PROGRAM: 'iTerm.app' }, true],
    [{ VTE_VERSION: '7600' }, true],
    [{ VTE_VERSION: '4205' }, false],
    [{ TERM: 'xterm-kitty' }, true],
    [{ TERM: 'xterm-256color' }, false],
  ])('makes links that can be clicked if the terminal is known to take them: %o', (env, has) => {
    const terminal = new VirtualTerminal(60);
    const view = new TerminalView(terminal, () => null, env);
    view.text('[docs](https://example.com)');
    view.endAnswer();
    expect(terminal.raw.includes('\u{1b}]8;;https://example.com\u{1b}')).toBe(has);
    expect(terminal.text.includes('(https://example.com)')).toBe(!has);
  });

  it('keeps the columns of a note that is wider than the terminal', () => {
    const terminal = new VirtualTerminal(30);
    viewOn(terminal).note('/new      begins\n/explain  explains the last answer');
    expect(terminal.text.trimEnd()).toBe('/new      begins\n/explain  explains the last\n          answer');
  });

  it('shows hostile titles and notes as text', () => {
    const terminal = new VirtualTerminal(60);
    const view = viewOn(terminal);
    const evil = '\u{1b}[2J\u{202e}\u{9b}31m\r\u{7}';
    view.status(`a${evil}`);
    view.tool({ name: 'x', title: `a${evil}`, status: 'failed', needs_sign_in: false });
    const actions = [{ title: evil, details: [{ label: evil, value: evil }], confirm_label: evil }];
    view.question(questionIn('q', { begins_at: 0, as: evil, actions }));
    view.endAnswer();
    view.note(`a${evil} ${TOKEN}`);
    // The terminal throws for a control character.
    expect(terminal.text).toContain('�[2J');
    expect(terminal.text).toContain('[token]');
  });
});
