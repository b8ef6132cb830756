import { expect, it } from 'vitest';
import { foldText } from '../../../src/daemon/texts/texts.ts';
import { randomFrom } from '../../support/chance.ts';

it.each([
  ['Hello THERE, friend!', 'hello there, friend!'],
  ['  two   spaces\tand\nlines ', 'two spaces and lines'],
  ['STRASSE', 'strasse'],
  ['straße', 'strasse'],
  ['οδοσ', 'οδος'],
  ['', ''],
  [' ', ''],
])('foldText folds %j', (text, folded) => {
  expect(foldText(text)).toBe(folded);
});

it('foldText folds ASCII text in the same way whether or not it is next to other characters', () => {
  const random = randomFrom(1);
  const signs = ['a', 'Z', '9', '!', '~', ' ', '  ', '\t', '\n', 'I', 'K'];
  for (let times = 0; times < 2_000; times++) {
    const text = Array.from({ length: random.below(12) }, () => random.pick(signs)).join('');
    expect(foldText(`${text} ß`)).toBe(`${foldText(text)} ss`.trim());
  }
});
