/**
 * Why a value cannot be written into a form without losing a part of it; null if it can. The text is a sentence about
 * `place` without a full stop.
 */
export function formProblem(place: string, value: unknown): string | null {
  if (value === null || value === undefined)
    return `\`${place}\` cannot be null, because a form has no null: leave it out`;
  if (typeof value !== 'object') return null;
  const entries = Object.entries(value);
  if (entries.length === 0)
    return `\`${place}\` cannot be empty, because a form has no empty list or object: leave it out`;
  for (const [key, inner] of entries) {
    const problem = formProblem(`${place}.${key}`, inner);
    if (problem !== null) return problem;
  }
  return null;
}
