import { describe, expect, it } from 'vitest';
import { fillIn } from '../../../src/channel/index.ts';
import { foldText, normalizeWord } from '../../../src/daemon/texts/fold-text.ts';
import { TEXTS } from '../../../src/daemon/texts/text-records.ts';
import { Texts } from '../../../src/daemon/texts/texts.ts';
import { randomFrom } from '../../support/chance.ts';
import { cpuTime } from '../../support/cpu-time.ts';

const GERMAN = { confirm: ['ja', 'gerne'], confirm_gone: 'Das wartet nicht mehr.' };

describe('texts', () => {
  it('are English without a configuration', () => {
    const texts = new Texts().in('de');
    expect(texts.say('confirm_gone')).toBe(TEXTS.confirm_gone.default);
    expect(texts.words('confirm')).toEqual(['yes', 'ok', 'confirm', 'yes please']);
    expect(texts.words('decline')).toEqual(['no', 'cancel', 'stop']);
  });

  it('are in the person’s language, and in English if that language lacks the text', () => {
    const texts = new Texts(new Map([['de', GERMAN]])).in('de');
    expect(texts.say('confirm_gone')).toBe('Das wartet nicht mehr.');
    expect(texts.words('confirm')).toEqual(['ja', 'gerne']);
    expect(texts.words('decline')).toEqual(['no', 'cancel', 'stop']);
  });

  it.each(['de-AT', 'de_AT', 'DE', 'de-Latn-AT'])('are in German for the locale %s', (locale) => {
    expect(new Texts(new Map([['de', GERMAN]])).in(locale).words('confirm')[0]).toBe('ja');
  });

  it('are from the entry for the whole language tag if it has the text, otherwise from the entry for the language', () => {
    const replaced = new Map([
      ['pt', { confirm: ['sim'], confirm_gone: 'pt' }],
      ['pt-br', { confirm_gone: 'pt-br' }],
    ]);
    const texts = new Texts(replaced).in('pt-BR');
    expect([texts.say('confirm_gone'), ...texts.words('confirm')]).toEqual(['pt-br', 'sim']);
  });

  it('are in the first given language that has texts, otherwise in DEFAULT_LOCALE', () => {
    const replaced = new Map([['de', GERMAN]]);
    const first = (...locales: (string | undefined)[]) =>
      new Texts(replaced, 'de').in(...locales).words('confirm')[0];
    expect(first(undefined, 'de')).toBe('ja');
    expect(first('fr', 'en')).toBe('yes');
    expect(first('en', 'de')).toBe('yes');
    expect(first('fr')).toBe('ja');
    expect(first()).toBe('ja');
  });

  it('can be replaced in English, too', () => {
    const texts = new Texts(new Map([['en', { confirm: ['do it'] }]])).in('en-US');
    expect(texts.words('confirm')).toEqual(['do it']);
    expect(texts.isWord('confirm', 'yes')).toBe(false);
  });

  it('replace all placeholders in one pass, so that a placeholder in a value is not replaced', () => {
    expect(fillIn('{a} {b} {c}', { a: '{b}', b: 'x' })).toBe('{b} x {c}');
    expect(new Texts().in().say('confirm_not_done', { action: 'Cancel $& {action}' })).toBe(
      'Cancel $& {action} – declined, nothing was changed',
    );
  });
});

describe('confirmation words', () => {
  const texts = new Texts(new Map([['de', GERMAN]]));

  it.each(['yes', ' YES ', 'Yes.', 'yes!!', 'Yes…', 'OK', 'ok.', 'confirm', 'Yes  please', 'yes\tplease !'])(
    'match after trimming, case folding and removal of final punctuation: %j',
    (text) => {
      expect(texts.in('en').isWord('confirm', text)).toBe(true);
    },
  );

  it.each(['', '.', 'yes, do it', 'yes no', 'yesterday', 'yes\u200b', 'no', '👍', 'ja'])(
    'do not match %j',
    (text) => {
      expect(texts.in('en').isWord('confirm', text)).toBe(false);
    },
  );

  it('have one normal form for all spellings', () => {
    expect(normalizeWord('STRASSE!')).toBe(normalizeWord('straße'));
  });

  it.each(['!', ' ', '\n', '.', '_', '"'])(
    'are compared quickly with a message of maximum length made of %j',
    (sign) => {
      const text = `a${sign.repeat(15_998)}a`;
      expect(cpuTime(() => texts.isWord('confirm', text))).toBeLessThan(200);
    },
  );

  it('are recognized in every language', () => {
    expect(texts.isWord('confirm', 'Ja!')).toBe(true);
    expect(texts.isWord('confirm', 'yes')).toBe(true);
    expect(texts.isWord('decline', 'ja')).toBe(false);
  });
});

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
