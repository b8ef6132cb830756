import { describe, expect, it } from 'vitest';
import { eventInWords, summaryInWords } from '../../../../src/cli/simulate/view.ts';

const VIEW = { isOneOfMany: false, width: Number.POSITIVE_INFINITY };

const sent = {
  type: 'sent',
  user: 'ada',
  place: 'direct',
  kind: 'message',
  text: 'Who am I?',
  number: 1,
  sent_at: 0,
} as const;

const none = { messages: 1, answered: 0, blocked: 0, failed: 0, unanswered: 0, unseen: 0, reasons: [] };

describe('a simulated message', () => {
  it('is shown with its text', () => {
    expect(eventInWords({ ...sent }, VIEW)).toBe('→ ada, to the bot: Who am I?\n');
  });

  it('is shown without a colon if it has no text', () => {
    expect(eventInWords({ ...sent, kind: 'other', text: '' }, VIEW)).toBe('→ ada, to the bot [other]\n');
  });
});

describe('what people see in a simulation', () => {
  it('is shown with its buttons, and again when the platform has changed it', () => {
    const shown = { type: 'shown', other: false, to: 'room', text: 'Sure?' } as const;
    const buttons = [{ label: 'Confirm', press: 'yes' }];
    expect(eventInWords({ ...shown, what: 'message', buttons }, VIEW)).toBe('← room: Sure?\n    [Confirm]\n');
    expect(eventInWords({ ...shown, what: 'edited', text: 'Sure?\nDone.' }, VIEW)).toBe(
      '← room, changed: Sure?\n    Done.\n',
    );
  });
});

describe('a text in a simulation', () => {
  const shown = { type: 'shown', other: false, what: 'message', to: 'room' } as const;

  it('is shown as people read it on the platform', () => {
    const readable = (markup: string) => markup.replace(/<[^<>]*>/g, '');
    expect(eventInWords({ ...shown, text: 'Send <code>/x</code>.' }, { ...VIEW, readable })).toBe(
      '← room: Send /x.\n',
    );
  });

  it('is broken between words in a terminal, and all its lines begin in the same column', () => {
    expect(eventInWords({ ...shown, text: 'one two three\n\n• four five six' }, { ...VIEW, width: 16 })).toBe(
      '← room: one\n    two three\n\n    • four five\n    six\n',
    );
  });

  it('shows no token, wherever a line ends', () => {
    const token = `eyJhbGciOiJIUzI1NiJ9.${'a'.repeat(40)}.${'b'.repeat(43)}`;
    expect(eventInWords({ ...shown, text: `Your token is ${token}` }, { ...VIEW, width: 20 })).not.toContain(
      'bbbbbbbb',
    );
  });
});

describe('the summary of a simulation', () => {
  it('says what to run if a message failed or was not answered', () => {
    const hint =
      'Run `agentd explain` with the request id to see why. `agentd inbox list` shows waiting messages.';
    expect(summaryInWords({ ...none, failed: 1, reasons: ['delivery_refused'] }, 'within 1 s')).toBe(
      `The message failed (delivery_refused).\n${hint}`,
    );
    expect(summaryInWords({ ...none, messages: 2, answered: 1, unanswered: 1 }, 'within 1 s')).toBe(
      `2 messages: 1 answered, 1 not answered within 1 s.\n${hint}`,
    );
    expect(summaryInWords({ ...none, answered: 1 }, 'within 1 s')).toBe('The message was answered.');
  });

  it('says how to continue if the loop guard blocked all messages', () => {
    const blocked = { ...none, blocked: 1, reasons: ['rate_limit'] };
    expect(summaryInWords(blocked, 'within 1 s')).toMatch(
      /^The message was blocked by the loop guard \(rate_limit\)\.\n.*`agentd guard reset`/,
    );
    expect(summaryInWords({ ...blocked, messages: 2, answered: 1 }, 'within 1 s')).toBe(
      '2 messages: 1 answered, 1 blocked by the loop guard (rate_limit).',
    );
  });

  it('says that no answer is expected if no event asked for an answer', () => {
    expect(summaryInWords({ ...none, messages: 0 }, 'within 1 s')).toBe('No answer is expected.');
  });
});
