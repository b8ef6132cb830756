/**
 * Why a module or a plugin does not fit its contract, and what would fit. `problem` is the end of a sentence that
 * begins with the location.
 */
export interface Refusal {
  problem: string;
  right: string;
}

/** The refusal of a member that should be `expected`, but is `came`. */
export function unfit(member: string, expected: string, came: unknown): Refusal {
  return { problem: `${member} is ${describeValue(came)}`, right: expected };
}

/** Whether a member fits, its name, what it should be, and what it is. */
export type Row = readonly [fits: boolean, member: string, expected: string, came: unknown];

/** The refusals of the members that do not fit, in order. */
export function unfitting(rows: readonly Row[]): Refusal[] {
  return rows.flatMap(([fits, ...row]) => (fits ? [] : [unfit(...row)]));
}

export function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}

export function isAbsentOr(fits: (value: unknown) => boolean, value: unknown): boolean {
  return value === undefined || fits(value);
}

/** A value from the code of a plugin, short enough to be shown. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return JSON.stringify(value)?.slice(0, 80) ?? String(value);
}
