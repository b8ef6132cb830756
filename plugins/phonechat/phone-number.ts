import { createRequire } from 'node:module';
import type { CountryCode, PhoneNumber } from 'libphonenumber-js/min';

/** Loads with the first number: every start imports every channel, and this weighs more than all of them. */
const require = createRequire(import.meta.url);
const parseNumber = (text: string, country?: CountryCode): PhoneNumber | undefined =>
  (require('libphonenumber-js/min') as typeof import('libphonenumber-js/min')).parsePhoneNumberFromString(
    text,
    country,
  );

/** Longest that a number may be written, in characters. */
const WRITTEN_MAX = 40;
/** What people put between the digits of a number. */
const WRITTEN = /^(\+|00)?[\d\s().\-/\u00a0\u2010-\u2013]+$/;

/** A country code and the rest (ITU-T E.164: 15 digits at most). */
const E164 = /^\+[1-9]\d{7,14}$/;

/** Mobile numbers: without the ninth digit they begin with 6 to 9; other ones are landlines, and somebody else's. */
const BRAZIL = /^\+55([1-9][1-9])(9?)([6-9]\d{7})$/;
const MEXICO = /^\+52(1?)([2-9]\d{9})$/;

/**
 * A phone number in international format as E.164 with a leading plus, and then the other writing that the
 * platform may use for the same person: Brazilian mobile numbers with and without their ninth digit, Mexican
 * ones with and without the 1 after the country code. Empty where it is no number.
 * @param given with or without the plus, as people write it
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
 * Does a claim name this very number? In international format only: in the national one it may be a number of
 * any country, which is no proof.
 * @param number in E.164
 */
export function namesNumber(claim: string, number: string): boolean {
  const ids = idsOf(number);
  return idsOf(claim).some((id) => ids.includes(id));
}

/**
 * May a claim be of this number? One in national format is read as one of the number's own country.
 * @param number in E.164
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
  // Known by their form: the library takes some of their digits for prefixes.
  if (BRAZIL.test(number) || MEXICO.test(number)) return number;
  // It is given digits alone, since it takes and strips what comes after `;` or white space.
  const parsed = parseNumber(number);
  // Of digits that stay a number when more of them are taken for a prefix, none are taken: an id is its own.
  if (parsed?.isPossible() && parseNumber(parsed.number)?.number === parsed.number) return parsed.number;
  // Numbering plans are younger than what the library knows of their lengths: with a country it may be one.
  return parsed && E164.test(number) ? number : null;
}

function inCountry(claim: string, country: CountryCode): string | null {
  const written = claim.trim();
  if (written.length > WRITTEN_MAX || !WRITTEN.test(written) || written.startsWith('+')) return null;
  const parsed = parseNumber(written.replace(/\D/g, ''), country);
  return parsed?.isPossible() ? parsed.number : null;
}
