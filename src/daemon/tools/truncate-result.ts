import { maskTokens } from '../settings/secret.ts';

/** Replaces the secrets in a text. */
export type Mask = (text: string) => string;

/** Maximum size of a tool's result for the agent, in bytes of JSON. */
export const MAX_RESULT_BYTES = 16_384;

interface Limits {
  /** Maximum number of entries of an array, and of properties of an object. */
  entries: number;
  /** Maximum number of characters of a text. */
  characters: number;
  depth: number;
}

/** For a result that is not too large. */
const WHOLE: Limits = { entries: MAX_RESULT_BYTES, characters: MAX_RESULT_BYTES, depth: 64 };
/** The limits for a larger one, which are tried in this order until the result fits. */
const LIMITS: readonly Limits[] = [
  { entries: 200, characters: 4_000, depth: 12 },
  { entries: 50, characters: 1_000, depth: 8 },
  { entries: 20, characters: 300, depth: 6 },
  { entries: 10, characters: 100, depth: 4 },
  { entries: 5, characters: 60, depth: 3 },
];

/**
 * A tool's result as the agent may see it: plain JSON without tokens, and at most `max_bytes`. If a result is too large,
 * its long parts are shortened, so that its structure is kept. A mark says how much was left out.
 *
 * @param mask replaces the tokens in a text. Default: replaces everything that has the form of a JWT.
 * @param max_bytes maximum size, if other parts of the answer need some of `MAX_RESULT_BYTES`.
 */
export function truncateResult(
  result: unknown,
  mask: Mask = maskTokens,
  max_bytes = MAX_RESULT_BYTES,
): unknown {
  for (const limits of isSmall(result, max_bytes) ? [WHOLE, ...LIMITS] : LIMITS) {
    const fitted = cut(result, limits, mask, 0);
    if (Buffer.byteLength(JSON.stringify(fitted) ?? '') <= max_bytes) return fitted;
  }
  return '[too large to show]';
}

function isSmall(result: unknown, max_bytes: number): boolean {
  try {
    return Buffer.byteLength(JSON.stringify(result) ?? '') <= max_bytes;
  } catch {
    // It is nested too deeply, or a module returned what JSON cannot have.
    return false;
  }
}

function cut(value: unknown, limits: Limits, mask: Mask, depth: number): unknown {
  if (typeof value === 'string') return shorten(mask(value), limits.characters);
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
    .map(([name, inner]) => [shorten(mask(name), limits.characters), cut(inner, limits, mask, depth + 1)]);
  if (entries.length > kept.length) kept.push(['…', `${entries.length - kept.length} more`]);
  return Object.fromEntries(kept);
}

function shorten(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max).toWellFormed()}[… ${text.length - max} more characters]`;
}
