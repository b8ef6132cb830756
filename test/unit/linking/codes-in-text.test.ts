import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codeAlone, codesIn, MASKED_CODE, maskCodes } from '../../../src/daemon/linking/codes-in-text.ts';
import { generateCode } from '../../../src/daemon/linking/create-code.ts';
import { cpuTime } from '../../support/cpu-time.ts';

const CODE = 'ABCDE23456';

describe('a link code', () => {
  it('has ten of 32 letters that do not look alike, with a digit, and is different each time', () => {
    const codes = Array.from({ length: 2000 }, generateCode);
    for (const code of codes) expect(code).toMatch(/^(?=.*\d)[2-9A-HJ-NP-Z]{10}$/);
    expect(new Set(codes).size).toBe(codes.length);
    expect(new Set(codes.join('')).size).toBe(32);
  });

  it.each([
    ...['ABCDE23456', ' abcde23456\n', 'ABCDE-23456', 'a-b-c-d-e-2-3-4-5-6', 'ABCDE–23456'],
    ...['ＡＢＣＤＥ２３４５６', 'ABCDE\u200b23456', 'link ａｂｃｄｅ－２３４５６'],
    ...['link ABCDE23456', 'LINK abcde-23456', '/link ABCDE23456', '/start ABCDE23456', 'start  ABCDE23456'],
  ])('is a whole message: %j', (text) => {
    expect(codeAlone(text)).toBe(CODE);
  });

  it.each([
    ...['ABCDE2345', 'ABCDE234567', 'ABCDE23450', 'ABCDI23456', 'my code is ABCDE23456', 'ABCDE23456 please'],
    ...['linkABCDE23456', 'Bestellung', 'restaurant', '', 'ABCDE 23456', 'ABCDE-23456-'],
  ])('is not a whole message: %j', (text) => {
    expect(codeAlone(text)).toBeNull();
  });

  it('counts as one without a digit only in capital letters, so that a word is none', () => {
    expect(codeAlone('BESTELLUNG')).toBe('BESTELLUNG');
    expect(codesIn('Meine Bestellung im Restaurant')).toEqual([]);
  });

  it.each([
    ['my code: abcde-23456, thanks', `my code: ${MASKED_CODE}, thanks`],
    ['https://wa.me/1555?text=link%20ABCDE23456', `https://wa.me/1555?text=link%20${MASKED_CODE}`],
    ['https://t.me/shop_bot?start=ABCDE23456', `https://t.me/shop_bot?start=${MASKED_CODE}`],
    ['99999-ABCDE-23456-99999', `99999-${MASKED_CODE}-99999`],
    ['ABCDE23456 ABCDE23456', `${MASKED_CODE} ${MASKED_CODE}`],
    ['ABCDE 23456', MASKED_CODE],
    ['it is abc de2 34 56 now', `it is ${MASKED_CODE} now`],
    ['ABCDE\n23456', MASKED_CODE],
    ['a ABCDE\u200b2\u00ad3456', `a ${MASKED_CODE}`],
    ['ＡＢＣＤＥ２３４５６です', `${MASKED_CODE}です`],
    ['ａｂｃｄｅ－２３４５６', MASKED_CODE],
  ])('is masked in %j', (text, masked) => {
    expect(maskCodes(text, new Set([CODE]))).toBe(masked);
    expect(maskCodes(text, new Set())).toBe(text);
  });

  it('is found wherever it stands between signs, and however it is hyphenated', () => {
    const hyphens = fc.array(fc.constantFrom('', '-', '‐', '—', '--'), { minLength: 9, maxLength: 9 });
    const before = fc.string({ unit: 'grapheme' }).map((text) => `${text} `);
    fc.assert(
      fc.property(before, hyphens, fc.boolean(), (text, between, isLower) => {
        const code = generateCode();
        const written = Array.from(code, (letter, at) => letter + (between[at] ?? '')).join('');
        const said = `${text}${isLower ? written.toLowerCase() : written}!`;
        expect(codesIn(said).map((found) => found.code)).toContain(code);
        expect(maskCodes(said, new Set([code]))).toContain(MASKED_CODE);
      }),
    );
  });

  it('is looked for in time that grows with the length of the text', () => {
    for (const part of ['A', 'A-', 'A---', '-', '%2', '2 ']) {
      const text = part.repeat(16_000 / part.length);
      expect(cpuTime(() => codesIn(text))).toBeLessThan(500);
    }
  });
});
