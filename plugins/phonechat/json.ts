/** Functions that read JSON from any sender. A value of another type counts as missing. */

export type Fields = Readonly<Record<string, unknown>>;

const NOTHING: Fields = {};

/** The members of an object; empty for any other value. */
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

/** An id, or a string of digits such as a phone number. Some gateways send these as JSON numbers. */
export function idOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : stringOf(value);
}

/** An error code as a number; NaN for any other value. */
export function codeOf(value: unknown): number {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
}

/** A text, trimmed and well-formed; undefined if it is empty. */
export function wordsOf(value: unknown): string | undefined {
  const words = stringOf(value)?.toWellFormed().trim();
  return words === '' ? undefined : words;
}
