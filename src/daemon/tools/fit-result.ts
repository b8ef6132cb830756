import { maskTokens } from '../settings/secret.ts';

/** Maximum size of a tool's result for the agent, in bytes of JSON. */
export const MAX_RESULT_BYTES = 16_384;

interface Limits {
  /** Maximum number of entries of an array, and of properties of an object. */
  entries: number;
  /** Maximum number of characters of a text. */
  characters: number;
  depth: number;
}

/** The limits, which are tried in this order until the result fits. */
const LIMITS: readonly Limits[] = [
  { entries: 200, characters: 4_000, depth: 12 },
  { entries: 50, characters: 1_000, depth: 8 },
  { entries: 20, characters: 300, depth: 6 },
  { entries: 10, characters: 100, depth: 4 },
  { entries: 5, characters: 60, depth: 3 },
];

type Mask = (text: string) => string;

/**
 * A tool's result as the agent may see it: plain JSON without tokens, and at most `max_bytes`. If a result is too large,
 * its long parts are shortened, so that its structure is kept. A mark says how much was left out.
 *
 * @param mask replaces the tokens in a text. Default: replaces everything that has the form of a JWT.
 * @param max_bytes maximum size, if other parts of the answer need some of `MAX_RESULT_BYTES`.
 */
export function fitResult(result: unknown, mask: Mask = maskTokens, max_bytes = MAX_RESULT_BYTES): unknown {
  for (const limits of LIMITS) {
    const fitted = cut(result, limits, mask, 0);
    if (Buffer.byteLength(JSON.stringify(fitted) ?? '') <= max_bytes) return fitted;
  }
  return '[too large to show]';
}

function cut(value: unknown, limits: Limits, mask: Mask, depth: number): unknown {
  if (typeof value === 'string') return cutText(mask(value), limits.characters);
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value !== 'object' || value === null) return null;
  if (depth === limits.depth) return '[…]';
  if (Array.isArray(value)) {
    const kept = value.slice(0, limits.entries).map((entry) => cut(entry, limits, mask, depth + 1));
    return value.length > kept.length ? [...kept, `[… ${value.length - kept.length} more]`] : kept;
  }
  const entries = Object.entries(value);
  const kept = entries
    .slice(0, limits.entries)
    .map(([name, inner]) => [cutText(mask(name), 200), cut(inner, limits, mask, depth + 1)]);
  if (entries.length > kept.length) kept.push(['…', `${entries.length - kept.length} more`]);
  return Object.fromEntries(kept);
}

function cutText(text: string, characters: number): string {
  // Half of a surrogate pair could not be encoded as UTF-8, so it is replaced.
  return text.length > characters ? `${text.slice(0, characters).toWellFormed()}…` : text;
}
