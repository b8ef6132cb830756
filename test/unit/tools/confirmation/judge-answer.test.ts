import { describe, expect, it } from 'vitest';
import type { PersonKey } from '../../../../src/daemon/identity/identity.ts';
import { type AnswerFacts, judgeAnswer } from '../../../../src/daemon/tools/confirmation/judge-answer.ts';

const ANNA = '["","","anna"]' as PersonKey;
const BERT = '["","","bert"]' as PersonKey;

const OF_ANNA = { user_id: 'U1', principal: ANNA, seen_replies: [{ at: 1000, asks: true }] };
const OF_USER = { user_id: 'U1', principal: 'telex:U1', seen_replies: [{ at: 1000, asks: true }] };

/** Anna confirms in words, with her token, after the question was sent. */
const YES: AnswerFacts = {
  says: 'confirm',
  names_action: false,
  user_id: 'U1',
  confirmer: ANNA,
  person: ANNA,
  has_token: true,
  signs_out: false,
  has_changed_hands: false,
  accepted_at: 1001,
};
const USER_YES: AnswerFacts = { ...YES, confirmer: 'telex:U1', person: null, has_token: false };
const NOBODY = { confirmer: null, person: null, has_token: false };
const STORED = { has_token: false };
const PRESSED = { names_action: true };

describe('who can confirm an action for a person:', () => {
  it.each([
    ['that person, with a token, confirms', {}, 'confirmed'],
    ['that person, by a button, confirms', PRESSED, 'confirmed'],
    ['that person with only a stored sign-in needs sign-in', STORED, 'sign_in'],
    [
      'that person with only a stored sign-in, by a button, needs sign-in',
      { ...STORED, ...PRESSED },
      'sign_in',
    ],
    ['a sender without sign-in needs sign-in', NOBODY, 'sign_in'],
    ['a sender without sign-in, by a button, needs sign-in', { ...NOBODY, ...PRESSED }, 'sign_in'],
    [
      'the same platform user without a person needs sign-in',
      { ...NOBODY, confirmer: 'telex:U1' },
      'sign_in',
    ],
    ['another channel user is ignored', { user_id: 'U2' }, 'left'],
    ['another channel user, by a button, counts as foreign', { user_id: 'U2', ...PRESSED }, 'foreign'],
    [
      'another channel user who is another person is ignored',
      { user_id: 'U2', confirmer: BERT, person: BERT },
      'left',
    ],
    ['the new owner of the channel user’s id is ignored', { ...NOBODY, has_changed_hands: true }, 'left'],
    [
      'the new owner of the channel user’s id, by a button, counts as foreign',
      { ...NOBODY, has_changed_hands: true, ...PRESSED },
      'foreign',
    ],
  ] as const)('%s', (_, facts, verdict) => {
    expect(judgeAnswer(OF_ANNA, { ...YES, ...facts })).toBe(verdict);
  });

  it.each([
    ['another person has been linked since', { confirmer: BERT, person: BERT }],
    ['its sender signs out', { ...NOBODY, signs_out: true }],
    ['its sender signs out, by a button', { ...NOBODY, signs_out: true, ...PRESSED }],
  ] as const)('an answer withdraws the action, whatever it says, if %s', (_, facts) => {
    for (const says of ['confirm', 'decline', 'other'] as const)
      expect(judgeAnswer(OF_ANNA, { ...YES, ...facts, says })).toBe('withdrawn');
  });
});

describe('an answer to a question for a platform user', () => {
  it('confirms if it is from that user', () => {
    expect(judgeAnswer(OF_USER, USER_YES)).toBe('confirmed');
    expect(judgeAnswer(OF_USER, { ...USER_YES, ...PRESSED })).toBe('confirmed');
  });

  it('does not confirm if it is from another user', () => {
    const other = { ...USER_YES, user_id: 'U2', confirmer: 'telex:U2' };
    expect(judgeAnswer(OF_USER, other)).toBe('left');
    expect(judgeAnswer(OF_USER, { ...other, ...PRESSED })).toBe('foreign');
  });

  it('withdraws the action if the user has signed in since the question', () => {
    expect(judgeAnswer(OF_USER, YES)).toBe('withdrawn');
  });
});

describe('an answer', () => {
  it.each([
    ['a confirming word after the question: confirmed', 'confirm', 1001, 'confirmed'],
    ['a confirming word in the same millisecond as the question: confirmed', 'confirm', 1000, 'confirmed'],
    ['a confirming word before the question: ignored', 'confirm', 999, 'left'],
    ['a declining word after the question: declined', 'decline', 1001, 'declined'],
    ['a declining word before the question: ignored', 'decline', 999, 'left'],
    ['any other message after the question: ignored', 'other', 1001, 'left'],
    ['any other message before the question: ignored', 'other', 999, 'left'],
  ] as const)('is judged correctly: %s', (_, says, accepted_at, verdict) => {
    expect(judgeAnswer(OF_ANNA, { ...YES, says, accepted_at })).toBe(verdict);
  });

  it('is ignored if it is in words and the question has not been sent yet', () => {
    for (const says of ['confirm', 'decline', 'other'] as const)
      expect(judgeAnswer({ ...OF_ANNA, seen_replies: [] }, { ...YES, says })).toBe('left');
  });

  it('is judged by the newest reply that had left before it', () => {
    const seen_replies = [
      { at: 1000, asks: true },
      { at: 1100, asks: false },
      { at: 1200, asks: true },
    ];
    const at = (accepted_at: number) => judgeAnswer({ ...OF_ANNA, seen_replies }, { ...YES, accepted_at });
    expect([999, 1000, 1099, 1100, 1199, 1200].map(at)).toEqual([
      ...['left', 'confirmed', 'confirmed', 'left', 'left', 'confirmed'],
    ]);
  });

  it('confirms at any time if it is a button, because the person saw the button with the question', () => {
    expect(judgeAnswer({ ...OF_ANNA, seen_replies: [] }, { ...YES, ...PRESSED })).toBe('confirmed');
  });
});

describe('a message that does not answer the question', () => {
  it('leaves the action pending, but a no declines it even with only a stored sign-in', () => {
    expect(judgeAnswer(OF_ANNA, { ...YES, ...STORED, says: 'other' })).toBe('left');
    expect(judgeAnswer(OF_ANNA, { ...YES, ...STORED, says: 'decline' })).toBe('declined');
  });

  it('does not affect the action if the sender is not signed in', () => {
    expect(judgeAnswer(OF_ANNA, { ...YES, ...NOBODY, says: 'other' })).toBe('left');
  });
});
