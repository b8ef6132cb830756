import { describe, expect, it } from 'vitest';
import { type AnswerFacts, judgeAnswer } from '../../../src/daemon/confirmation/judge-answer.ts';
import type { PersonKey } from '../../../src/daemon/identity/identity.ts';

const ANNA = '["","","anna"]' as PersonKey;
const BERT = '["","","bert"]' as PersonKey;

const OF_ANNA = { user_id: 'U1', principal: ANNA, asked_at: 1000 };
const OF_USER = { user_id: 'U1', principal: 'telex:U1', asked_at: 1000 };

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

describe('who may confirm an action of a person', () => {
  it.each([
    ['that person, with a token', {}, 'confirmed'],
    ['that person by a button', PRESSED, 'confirmed'],
    ['not a stored context', STORED, 'sign_in'],
    ['not a stored context by a button', { ...STORED, ...PRESSED }, 'sign_in'],
    ['not without sign-in', NOBODY, 'sign_in'],
    ['not without sign-in, by a button', { ...NOBODY, ...PRESSED }, 'sign_in'],
    ['not only the platform’s user', { ...NOBODY, confirmer: 'telex:U1' }, 'sign_in'],
    ['not another channel user', { user_id: 'U2' }, 'left'],
    ['not another channel user by a button', { user_id: 'U2', ...PRESSED }, 'foreign'],
    [
      'not another channel user who is another person',
      { user_id: 'U2', confirmer: BERT, person: BERT },
      'left',
    ],
    ['not the new owner of the channel user’s id', { ...NOBODY, has_changed_hands: true }, 'left'],
    [
      'not the new owner of the id, by a button',
      { ...NOBODY, has_changed_hands: true, ...PRESSED },
      'foreign',
    ],
  ] as const)('%s', (_, facts, verdict) => {
    expect(judgeAnswer(OF_ANNA, { ...YES, ...facts })).toBe(verdict);
  });

  it.each([
    ['another person who was linked since', { confirmer: BERT, person: BERT }],
    ['sign-out', { ...NOBODY, signs_out: true }],
    ['sign-out by a button', { ...NOBODY, signs_out: true, ...PRESSED }],
  ] as const)('is withdrawn by %s', (_, facts) => {
    for (const says of ['confirm', 'decline', 'other'] as const)
      expect(judgeAnswer(OF_ANNA, { ...YES, ...facts, says })).toBe('withdrawn');
  });
});

describe('who may confirm an action of a platform’s user', () => {
  it('is that user', () => {
    expect(judgeAnswer(OF_USER, USER_YES)).toBe('confirmed');
    expect(judgeAnswer(OF_USER, { ...USER_YES, ...PRESSED })).toBe('confirmed');
  });

  it('is not another user', () => {
    const other = { ...USER_YES, user_id: 'U2', confirmer: 'telex:U2' };
    expect(judgeAnswer(OF_USER, other)).toBe('left');
    expect(judgeAnswer(OF_USER, { ...other, ...PRESSED })).toBe('foreign');
  });

  it('is nobody after the user has signed in', () => {
    expect(judgeAnswer(OF_USER, YES)).toBe('withdrawn');
  });
});

describe('the time of an answer', () => {
  it.each([
    ['a word', 'confirm', 1001, 'confirmed'],
    ['a word of the same millisecond', 'confirm', 1000, 'confirmed'],
    ['an earlier word', 'confirm', 999, 'left'],
    ['a word that declines', 'decline', 1001, 'declined'],
    ['an earlier word that declines', 'decline', 999, 'left'],
    ['any other message', 'other', 1001, 'declined'],
    ['any other message, sent earlier', 'other', 999, 'left'],
  ] as const)('%s', (_, says, accepted_at, verdict) => {
    expect(judgeAnswer(OF_ANNA, { ...YES, says, accepted_at })).toBe(verdict);
  });

  it('cannot be before the question is sent, for words', () => {
    for (const says of ['confirm', 'decline', 'other'] as const)
      expect(judgeAnswer({ ...OF_ANNA, asked_at: null }, { ...YES, says })).toBe('left');
  });

  it('can be any time for a button, which was seen with the question', () => {
    expect(judgeAnswer({ ...OF_ANNA, asked_at: null }, { ...YES, ...PRESSED })).toBe('confirmed');
  });
});

describe('any other message', () => {
  it('declines an action of the same principal, even with a stored context', () => {
    expect(judgeAnswer(OF_ANNA, { ...YES, ...STORED, says: 'other' })).toBe('declined');
    expect(judgeAnswer(OF_ANNA, { ...YES, ...STORED, says: 'decline' })).toBe('declined');
  });

  it('does not affect an action while nobody is known', () => {
    expect(judgeAnswer(OF_ANNA, { ...YES, ...NOBODY, says: 'other' })).toBe('left');
  });
});
