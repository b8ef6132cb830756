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
/** Characters that people put between digits. */
const WRITTEN = /^(\+|00)?[\d\s().\-/\u00a0\u2010-\u2013]+$/;

/** A country code and the rest (ITU-T E.164: at most 15 digits). */
const E164 = /^\+[1-9]\d{7,14}$/;

/**
 * Brazilian mobile numbers without the ninth digit begin with 6 to 9. The other numbers are landlines. With a ninth
 * digit, they would be numbers of other people.
 */
const BRAZIL = /^\+55([1-9][1-9])(9?)([6-9]\d{7})$/;
const MEXICO = /^\+52(1?)([2-9]\d{9})$/;

/**
 * Returns a phone number in E.164 format with a leading plus. The platform may spell some numbers in two ways:
 * Brazilian mobile numbers with or without the ninth digit, Mexican numbers with or without the 1 after the country
 * code. In these cases, the result contains both spellings. Empty if the text is not a number.
 * @param given the number as people write it, with or without the plus
 */
export function idsOf(given: string): readonly string[] {
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
  const ids = idsOf(number);
  return idsOf(claim).some((id) => ids.includes(id));
}

/**
 * Whether a claim of a token may name this number. A claim in national format is read as a number of the same country.
 * @param number in E.164 format
 */
export function mayNameNumber(claim: string, number: string): boolean {
  const country = parseNumber(number)?.country;
  const national = country === undefined ? null : inCountry(claim, country);
  return namesNumber(claim, number) || (national !== null && namesNumber(national, number));
}

function e164(given: string): string | null {
  const written = given.trim();
  if (written.length > WRITTEN_MAX || !WRITTEN.test(written)) return null;
  const number = `+${written.replace(/^00/, '').replace(/\D/g, '')}`;
  // These numbers are recognized by a pattern, because the library reads some of their digits as prefixes.
  if (BRAZIL.test(number) || MEXICO.test(number)) return number;
  // The library gets digits only, because it would read text after `;` or white space as an extension.
  const parsed = parseNumber(number);
  // The library may remove a prefix. Its result is used only if the library reads that result as the same number;
  // otherwise, the digits are kept as they are.
  if (parsed?.isPossible() && parseNumber(parsed.number)?.number === parsed.number) return parsed.number;
  // A numbering plan may be newer than the library, so a number of another length is accepted if its country is known.
  return parsed && E164.test(number) ? number : null;
}

function inCountry(claim: string, country: CountryCode): string | null {
  const written = claim.trim();
  if (written.length > WRITTEN_MAX || !WRITTEN.test(written) || written.startsWith('+')) return null;
  const parsed = parseNumber(written.replace(/\D/g, ''), country);
  return parsed?.isPossible() ? parsed.number : null;
}
