import type { Parameter } from './read-operation.ts';

/**
 * Why a part of a parameter's value would be left out of the request; null if nothing is. The styles of parameters have
 * no form for null, for an empty list and for an empty object. An API could take a filter that is missing for all
 * records.
 */
export function unsendable({ property, style }: Parameter, value: unknown): string | null {
  if (style === 'json') return null;
  const kind = emptyPart(value);
  return kind === null ? null : `The argument \`${property}\` cannot ${kind}. Leave that out.`;
}

function emptyPart(value: unknown, verb = 'be'): string | null {
  if (value === null) return `${verb} null`;
  if (typeof value !== 'object') return null;
  const parts = Object.values(value);
  if (parts.length === 0) return `${verb} an empty ${Array.isArray(value) ? 'list' : 'object'}`;
  return parts.map((part) => emptyPart(part, 'contain')).find((kind) => kind !== null) ?? null;
}
