import { describe, expect, it } from 'vitest';
import { answerIn, cardLines, keysInWords, questionIn, timeLeft } from '../../../../src/cli/chat/question.ts';

const NOW = Date.parse('2026-11-28T12:00:00Z');
const inMinutes = (minutes: number) => new Date(NOW + minutes * 60_000).toISOString();
const asking = (count: number, more: object = {}) =>
  questionIn('q', {
    expires_at: inMinutes(15),
    begins_at: 0,
    actions: Array.from({ length: count }, (_, index) => ({
      number: index + 1,
      title: `Cancel order "${index + 1}"`,
      details: [{ label: 'Reason', value: '"it is much too late for this order"' }],
    })),
    ...more,
  });
const LOOK = { width: 40, color: false, links: false };
const card = (question: ReturnType<typeof asking>) => cardLines(question, LOOK, () => null, NOW).join('\n');

describe('the answer to a question', () => {
  it.each([
    ['y', true],
    [' Yes ', true],
    ['n', false],
    ['NO', false],
    ['1,3', [1, 3]],
    ['3 1', [3, 1]],
    ['2', [2]],
  ])('may be %j', (text, approve) => {
    expect(answerIn(text, asking(3))).toEqual({ id: 'q', approve });
  });

  it.each(['', 'yes please', 'no, the other one', '0', '4', '1,1', '1-3', 'only 1'])('is not %j', (text) => {
    expect(answerIn(text, asking(3))).toBe(null);
  });

  it('has no numbers if there is one action', () => {
    expect(answerIn('1', asking(1))).toBe(null);
  });
});

describe('the card of a question', () => {
  it('lists several actions with numbers, their arguments, and the keys', () => {
    expect(card(asking(2, { as: 'grace@example.com' }))).toBe(
      [
        '┌ Please confirm',
        '│ 1. Cancel order "1"',
        '│   Reason  "it is much too late for',
        '│           this order"',
        '│ 2. Cancel order "2"',
        '│   Reason  "it is much too late for',
        '│           this order"',
        '│ As grace@example.com',
        '└ y confirms all, n declines all, and',
        '  numbers (1,2) confirm only those',
      ].join('\n'),
    );
  });

  it('names the verb of the action', () => {
    const question = questionIn('q', { actions: [{ title: 'Pay', details: [], confirm_label: 'Pay now' }] });
    expect(keysInWords(question)).toBe('y: Pay now, n: Decline');
  });

  it('says how long it is open, if that is short', () => {
    const left = (minutes: number) => timeLeft(asking(1, { expires_at: inMinutes(minutes) }), NOW);
    expect([left(15), left(5), left(0.5), left(0)]).toEqual([
      null,
      '5 min left',
      '1 min left',
      'this question has ended',
    ]);
    expect(card(asking(1, { expires_at: inMinutes(2) }))).toContain('│ 2 min left\n');
  });

  it('shows the summary if the daemon sends no actions', () => {
    expect(card(questionIn('q', { summary: 'Cancel order' }))).toContain('│ Cancel order\n');
  });
});
