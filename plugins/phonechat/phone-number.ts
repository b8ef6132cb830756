import { createRequire } from 'node:module';
import type { CountryCode, PhoneNumber } from 'libphonenumber-js/min';

const require = createRequire(import.meta.url);
let library: typeof import('libphonenumber-js/min') | undefined;

/**
 * Loads the numbering plans. The daemon imports every channel at each start, and this library is larger than all
 * channels together.
 */
export function loadNumberingPlans(): typeof import('libphonenumber-js/min') {
  library ??= require('libphonenumber-js/min') as typeof import('libphonenumber-js/min');
  return library;
}

const parseNumber = (text: string, country?: CountryCode): PhoneNumber | undefined =>
  loadNumberingPlans().parsePhoneNumberFromString(text, country);

/** Maximum length of a number as people write it, in characters. */
const WRITTEN_MAX = 40;
/** Digits, and the characters that people put between them. */
const WRITTEN = /^\+?[\d\s().\-/\u00a0\u2010-\u2013]+$/;
/** Without one of these, the digits may be a national number. Read with a plus, they would belong to a stranger. */
const INTERNATIONAL = /^(\+|00)/;

/**
 * Brazilian mobile numbers without the ninth digit begin with 1 or 6 to 9. Landline numbers begin with 2 to 5: with a
 * ninth digit, they would be numbers of other people.
 */
const BRAZIL = /^\+55([1-9][1-9])(9?)([16-9]\d{7})$/;
const MEXICO = /^\+52(1?)([2-9]\d{9})$/;

/**
 * Returns a phone number in E.164 format with a leading plus. The platform may spell some numbers in two ways:
 * Brazilian mobile numbers with or without the ninth digit, Mexican numbers with or without the 1 after the country
 * code. In these cases, the result contains both spellings. Empty if the text is not a number that its country can have.
 * @param given the number in international format, as people write it: it begins with `+` or `00`
 */
export function listSpellings(given: string): readonly string[] {
  const number = e164(given);
  if (number === null) return [];
  const brazilian = BRAZIL.exec(number);
  if (brazilian) {
    const [, area, , rest] = brazilian;
    return [`+55${area}9${rest}`, `+55${area}${rest}`];
  }
  const mexican = MEXICO.exec(number);
  if (mexican) return [`+52${mexican[2]}`, `+521${mexican[2]}`];
  return [number];
}

/**
 * Whether a claim of a token names exactly this number. The claim must be in international format: a number in national
 * format may exist in several countries, so it proves nothing.
 * @param number in E.164 format
 */
export function namesNumber(claim: string, number: string): boolean {
  const ids = listSpellings(number);
  return listSpellings(claim).some((id) => ids.includes(id));
}

/**
 * Whether a claim of a token may name this number. A claim without a plus is read as a number of the same country, and
 * as one whose plus is missing.
 * @param number in E.164 format
 */
export function mayNameNumber(claim: string, number: string): boolean {
  const country = parseNumber(number)?.country;
  const national = country === undefined ? null : inCountry(claim, country);
  return [claim, `+${claim.trim()}`, national].some((read) => read !== null && namesNumber(read, number));
}

/**
 * Compares the claim `phone` of a token with a user id, which is a number in E.164 format. If the platform hides the
 * number, nothing is known about it.
 */
export function comparePhone(user_id: string, claim: string): 'same' | 'other' | 'unknown' {
  const number = listSpellings(user_id)[0];
  if (number === undefined) return 'unknown';
  if (namesNumber(claim, number)) return 'same';
  return mayNameNumber(claim, number) ? 'unknown' : 'other';
}

function e164(given: string): string | null {
  const written = given.trim();
  if (!isWritten(written) || !INTERNATIONAL.test(written)) return null;
  const number = `+${written.replace(/^00/, '').replace(/\D/g, '')}`;
  // These numbers are recognized by a pattern, because the library reads some of their digits as prefixes.
  if (BRAZIL.test(number) || MEXICO.test(number)) return number;
  // The library gets digits only, because it would read text after `;` or white space as an extension.
  const parsed = parseNumber(number);
  if (!parsed?.isPossible()) return null;
  // The library may remove a prefix. A result that it would read as yet another number is not a number.
  return parseNumber(parsed.number)?.number === parsed.number ? parsed.number : null;
}

function isWritten(text: string): boolean {
  return text.length <= WRITTEN_MAX && WRITTEN.test(text);
}

function inCountry(claim: string, country: CountryCode): string | null {
  const written = claim.trim();
  if (!isWritten(written) || written.startsWith('+')) return null;
  const parsed = parseNumber(written.replace(/\D/g, ''), country);
  return parsed?.isPossible() ? parsed.number : null;
}
