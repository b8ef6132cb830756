import { describe, expect, it } from 'vitest';
import { happeningInWords, summaryInWords } from '../../../../src/cli/simulate/view.ts';

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

describe('what was sent', () => {
  it('is told with its words', () => {
    expect(happeningInWords({ ...sent }, false)).toBe('→ ada, to the bot: Who am I?\n');
  });

  it('is told without a colon where it has none', () => {
    expect(happeningInWords({ ...sent, kind: 'other', text: '' }, false)).toBe('→ ada, to the bot [other]\n');
  });
});

describe('the summary', () => {
  it('leads on where a message was not answered, or has failed', () => {
    const hint = '`agentd explain` tells why, given the request; `agentd inbox list` shows what waits.';
    expect(summaryInWords({ ...none, failed: 1, reasons: ['delivery_refused'] }, 'until now')).toBe(
      `The message has failed (delivery_refused).\n${hint}`,
    );
    expect(summaryInWords({ ...none, messages: 2, answered: 1, unanswered: 1 }, 'until now')).toBe(
      `2 messages: 1 answered, 1 not answered until now.\n${hint}`,
    );
    expect(summaryInWords({ ...none, answered: 1 }, 'until now')).toBe('The message was answered.');
  });

  it('claims nothing of what must not be answered', () => {
    expect(summaryInWords({ ...none, messages: 0 }, 'until now')).toBe('Nothing of this has to be answered.');
  });
});
