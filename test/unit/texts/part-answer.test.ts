import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { type Replacements, Texts } from '../../../src/daemon/texts/texts.ts';

const read = (tag: string) => {
  const sample = readFileSync(new URL(`../../../config/texts.${tag}.yaml`, import.meta.url), 'utf8');
  const { texts } = load(sample) as { texts: Record<string, Replacements> };
  return texts[tag] ?? {};
};
const texts = new Texts(
  new Map([
    ['de', read('de')],
    ['es', read('es')],
  ]),
);

describe('an answer to three actions', () => {
  it.each([
    ['en', 'only 1 and 3', [1, 3]],
    ['en', 'Only 1, 3.', [1, 3]],
    ['en', 'just #2', [2]],
    ['en', 'not 2', [1, 3]],
    ['en', 'all but 1 and 2', [3]],
    ['en', 'not 1, 2 and 3', []],
    ['de', 'nur 1 und 3', [1, 3]],
    ['de', 'Nur die 2!', [2]],
    ['de', 'nicht 2', [1, 3]],
    ['de', 'alle außer 1', [2, 3]],
    ['es', 'solo 1 y 3', [1, 3]],
    ['es', 'Sólo la 1 y la 3.', [1, 3]],
    ['es', 'no 2', [1, 3]],
    ['es', 'todas menos la 1', [2, 3]],
  ] as const)('in %s: %j confirms %j', (tag, text, confirmed) => {
    expect(texts.in(tag).confirmedPart(text, 3)).toEqual(confirmed);
    expect(texts.isAnswer(text)).toBe(true);
  });

  it.each([
    'only',
    'only 4',
    'only 0',
    'only 1 and 1',
    'only the first',
    'only 1 if it is cheap',
    'not now',
    'not 2 please, but why 1?',
    '1 and 3',
    'only1',
    'all 3',
    'no 2',
    'nur 1',
    'only 1 not 2',
    'only 1?',
    'not 2?',
    'Only 1 and 3 ?!',
    'not 2…?',
    'only 1；？',
    'only 1؟',
  ])('%j is no answer in English', (text) => {
    expect(texts.in('en').confirmedPart(text, 3)).toBeNull();
  });
});

describe('a question', () => {
  it.each([
    ['en', 'yes please?'],
    ['de', 'Ja, bitte?'],
    ['de', 'ja bitte?!'],
    ['es', '¿Sí por favor?'],
    ['es', 'sí por favor？'],
  ])('in %s, %j confirms nothing', (tag, text) => {
    expect(texts.in(tag).isWord('confirm', text)).toBe(false);
    expect(texts.isWord('confirm', text)).toBe(false);
  });

  it.each(['yes?', 'yes please!', 'Yes please.'])('%j is an answer', (text) => {
    expect(texts.in('en').isWord('confirm', text)).toBe(true);
  });
});

it('may have words of which some are in the texts of another language tag, as everywhere', () => {
  const split = new Texts(
    new Map([
      ['de', { confirm_only: ['nur'] }],
      ['de-at', { confirm_between: ['und'] }],
    ]),
  );
  expect(split.in('de-AT').confirmedPart('nur 1 und 3', 3)).toEqual([1, 3]);
  expect(split.isAnswer('nur 1 und 3')).toBe(true);
  expect(split.in('de').confirmedPart('nur 1 and 3', 3)).toEqual([1, 3]);
  expect(split.isAnswer('nur 1 and 3')).toBe(true);
});

it.each(['Yes!', 'no', 'Ja', 'nein.', 'Sí', 'only 2'])('%j may answer a question', (text) => {
  expect(texts.isAnswer(text)).toBe(true);
});

it.each(['', '?!', 'Where is my order?', 'yes please do it now', 'only the first', 'only 2?', 'yes please?'])(
  '%j answers no question',
  (text) => {
    expect(texts.isAnswer(text)).toBe(false);
  },
);
