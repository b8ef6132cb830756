import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { findClaim } from '../../../src/daemon/texts/claims/find-claim.ts';

/** The sentences of a language: `+` says that something was changed, `-` does not. */
function sentences(language: string, sign: '+' | '-'): string[] {
  const file = new URL(`../../fixtures/claims/${language}.txt`, import.meta.url);
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${sign} `))
    .map((line) => line.slice(2));
}

const LANGUAGES = ['en', 'de', 'es'];
const CLAIMS = LANGUAGES.flatMap((language) => sentences(language, '+'));
const OTHERS = LANGUAGES.flatMap((language) => sentences(language, '-'));

describe('among 400 sentences of agents', () => {
  it('at least 95 % of the claims are found', () => {
    expect(CLAIMS).toHaveLength(200);
    const missed = CLAIMS.filter((sentence) => findClaim(sentence) === null);
    expect(missed.length, missed.join('\n')).toBeLessThanOrEqual(CLAIMS.length * 0.05);
  });

  it('at most 2 % of the others are taken for claims', () => {
    expect(OTHERS).toHaveLength(200);
    const mistaken = OTHERS.filter((sentence) => findClaim(sentence) !== null);
    expect(mistaken.length, mistaken.join('\n')).toBeLessThanOrEqual(OTHERS.length * 0.02);
  });
});

describe('a reply', () => {
  it.each([
    [
      'Of course. I’ve **cancelled** [order 1004](https://example.com). Anything else?',
      "i've cancelled order 1004",
    ],
    ['- Order 1003: unchanged\n- ✅ Order 1004 has been cancelled', 'order 1004 has been cancelled'],
    ['I’ve cancelled it, anything else?', "i've cancelled it"],
    ['Ihre Bestellung Nr. 1004 wurde storniert.', 'ihre bestellung nr. 1004 wurde storniert'],
  ])('claims something wherever the sentence is (%s)', (reply, clause) => {
    expect(findClaim(reply)).toBe(clause);
  });

  it.each([
    'It says: "I have cancelled your order."',
    '> I have cancelled your order.\n\nIs that the e-mail?',
    '```\nYour order has been cancelled.\n```\nThis is the template.',
    'Your order was cancelled, right?',
    '',
  ])('claims nothing by what it quotes or asks (%j)', (reply) => {
    expect(findClaim(reply)).toBeNull();
  });

  it.each(['I have ', 'wurde ', '```\n', '[a](', '"a ', 'a.b. ', ', ', 'se ha '])(
    'of any length is searched in bounded time (%j)',
    (piece) => {
      expect(findClaim(piece.repeat(20_000))).toBeNull();
    },
    20_000,
  );
});
