/** What `JSON.parse` tells a reviver of a value: how it is written (ECMAScript, "JSON.parse source text access"). */
interface Written {
  source?: string;
}

/**
 * Parses JSON. An integer that a number cannot hold becomes the text of its digits: as a number it would be another one,
 * so that an id would name somebody else's record.
 * @throws SyntaxError
 */
export function parseExactly(json: string): unknown {
  if (!mayBeInexact(json)) return JSON.parse(json);
  return JSON.parse(json, exact as (key: string, value: unknown) => unknown);
}

function exact(_: string, value: unknown, { source }: Written): unknown {
  return isInexact(value) ? (source ?? value) : value;
}

/** Whether a JSON text may have such an integer. One look at the text, since hardly any has. */
export function mayBeInexact(json: string): boolean {
  return /\d{16}|\d[eE]\+?\d/.test(json);
}

/** Whether a value is an integer that a number holds only about. */
export function isInexact(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}
