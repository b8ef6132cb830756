/** Readers of JSON that anyone may have written: a value of another type is one that is not there. */

export type Fields = Readonly<Record<string, unknown>>;

const NOTHING: Fields = {};

/** The own members of an object; none of anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : NOTHING;
}

/** The items of an array that are objects. */
export function objectsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value)
    ? value.filter((item) => typeof item === 'object' && item !== null && !Array.isArray(item))
    : [];
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** An id or a number of digits; some gateways write those as JSON numbers. */
export function idOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : stringOf(value);
}

/** The code of an error; NaN where it is none. */
export function codeOf(value: unknown): number {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
}

/** A text that says something, trimmed and well-formed. */
export function wordsOf(value: unknown): string | undefined {
  const words = stringOf(value)?.toWellFormed().trim();
  return words === '' ? undefined : words;
}
