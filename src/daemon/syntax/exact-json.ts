/**
 * What `JSON.parse` passes to a reviver about a value: its source text (ECMAScript, "JSON.parse source text access").
 */
interface Written {
  source?: string;
}

/**
 * Parses JSON. An integer that a number cannot represent becomes the text of its digits, because a rounded id could be
 * the id of somebody else's record.
 * @throws SyntaxError
 */
export function parseExactly(json: string): unknown {
  if (!mayBeInexact(json)) return JSON.parse(json);
  return JSON.parse(json, exact as (key: string, value: unknown) => unknown);
}

function exact(_: string, value: unknown, { source }: Written): unknown {
  return isInexact(value) ? (source ?? value) : value;
}

/**
 * Whether a JSON text may contain an integer that a number cannot represent. One search is enough to rule this out for
 * most texts.
 */
export function mayBeInexact(json: string): boolean {
  return /\d{16}|\d[eE]\+?\d/.test(json);
}

/** Whether a value is an integer that a number represents only approximately. */
export function isInexact(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}
