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
  return { problem: `${member} is ${inWords(came)}`, right: expected };
}

/** A value from the code of a plugin, short enough to be shown. */
export function inWords(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return JSON.stringify(value)?.slice(0, 80) ?? String(value);
}
