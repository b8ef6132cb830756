/** Why a plugin does not fit, and what would. `problem` ends a sentence that begins with the place. */
export interface Refusal {
  problem: string;
  right: string;
}

/** Expected this, came that. */
export function unfit(member: string, expected: string, came: unknown): Refusal {
  return { problem: `${member} is ${inWords(came)}`, right: expected };
}

/** A value of another's code, short enough to be shown. */
export function inWords(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return JSON.stringify(value)?.slice(0, 80) ?? String(value);
}
