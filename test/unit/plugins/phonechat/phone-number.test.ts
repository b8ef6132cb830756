import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  comparePhone,
  listSpellings,
  mayNameNumber,
  namesNumber,
} from '../../../../plugins/phonechat/phone-number.ts';

describe('listSpellings', () => {
  it.each([
    ['+16505551234', ['+16505551234']],
    ['0016505551234', ['+16505551234']],
    // Without a plus, a national number of New York would be a number of Morocco, and any number one of another country.
    ['16505551234', []],
    ['2125550123', []],
    ['0171 1234567', []],
    ['(212) 555-0123', []],
    ['0049 170 1234567', ['+491701234567']],
    ['+44 (0)20 7946 0958', ['+442079460958']],
    ['+49.170/123-45 67', ['+491701234567']],
    // Brazilian mobile numbers: the first id has the ninth digit.
    ['+5511987654321', ['+5511987654321', '+551187654321']],
    ['00551187654321', ['+5511987654321', '+551187654321']],
    ['551187654321', []],
    ['+5511912345678', ['+5511912345678', '+551112345678']],
    ['+55 31 99688-3193', ['+5531996883193', '+553196883193']],
    // A landline number. The mobile number without its ninth digit would be this landline number of another person.
    ['+551133334444', ['+551133334444']],
    ['+5511933334444', ['+5511933334444']],
    // Mexican numbers: the first id has no 1 after the country code.
    ['+525512345678', ['+525512345678', '+5215512345678']],
    ['005215512345678', ['+525512345678', '+5215512345678']],
    // Numbers of a length that their country does not have.
    ['+1234567890', []],
    ['+2125550123', []],
    // The numbering plan removes one of two zeros, and then the other one.
    ['+43004564757', []],
    ['+0016505551234', []],
    ['+1 650 555', []],
    ['+999123456789', []],
    ['+16505551234;ext=5', []],
    ['+16505551234 or so', []],
    ['US.13491208655302741918', []],
    ['+', []],
    ['', []],
    ['1'.repeat(100), []],
    ['+١٦٥٠٥٥٥١٢٣٤', []],
  ])('returns the ids for %j', (given, ids) => {
    expect(listSpellings(given)).toEqual(ids);
  });

  it('returns the same ids for each id that it returned, for any number', () => {
    const written = fc.oneof(
      fc.stringMatching(/^(\+|00)?\d{1,16}$/),
      fc.stringMatching(/^\+55[1-9]\d9?\d{8}$/),
      fc.stringMatching(/^\+521?\d{10}$/),
      fc.string(),
    );
    fc.assert(
      fc.property(written, (given) => {
        const ids = listSpellings(given);
        expect(new Set(ids).size).toBe(ids.length);
        for (const id of ids) {
          expect(id).toMatch(/^\+\d{5,16}$/);
          expect(listSpellings(id)).toEqual(ids);
          expect(listSpellings(`00${id.slice(1)}`)).toEqual(ids);
          expect(listSpellings(id.slice(1))).toEqual([]);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a claim with a phone number', () => {
  it.each([
    ['+16505551234', true, true],
    ['001 650 555 1234', true, true],
    // Without a plus, it may be a number of another country: this is enough to link the number, but not to take over
    // somebody else's link.
    ['1 650 555 1234', true, false],
    ['16505551234', true, false],
    ['(650) 555-1234', true, false],
    ['+16505551235', false, false],
    ['650', false, false],
    ['Alice', false, false],
    ['+', false, false],
    ['', false, false],
  ])('that is %j may name +16505551234: %s, and certainly names it: %s', (claim, may, names) => {
    expect(mayNameNumber(claim, '+16505551234')).toBe(may);
    expect(namesNumber(claim, '+16505551234')).toBe(names);
  });

  it('names a person by either spelling of the number', () => {
    expect(namesNumber('+551187654321', '+5511987654321')).toBe(true);
    expect(namesNumber('+5215512345678', '+525512345678')).toBe(true);
    expect(mayNameNumber('0170 1234567', '+491701234567')).toBe(true);
    expect(namesNumber('0170 1234567', '+491701234567')).toBe(false);
  });
});

describe('a phone claim and a user id', () => {
  it.each([
    ['+16505551234', '+1 650 555 1234', 'same'],
    ['+551187654321', '+5511987654321', 'same'],
    ['+16505551234', '650 555 1234', 'unknown'],
    ['US.13491208655302741918', '+16505551234', 'unknown'],
    ['+16505551234', '+16505559999', 'other'],
  ])('%s and %s: %s', (user_id, claim, expected) => {
    expect(comparePhone(user_id, claim)).toBe(expected);
  });
});
