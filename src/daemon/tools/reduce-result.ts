import { isObject } from '../../channel/json-object.ts';

/**
 * The part of a result that may be shown if it was fetched with default credentials: the public fields of an object, or
 * of each element of an array. Any other result, such as a text, is shown only if `shown` is `all`.
 */
export function reduceResult(result: unknown, shown: readonly string[] | 'all'): unknown {
  if (shown === 'all') return result;
  if (Array.isArray(result))
    return shown.length === 0 ? [] : result.filter(isObject).map((entry) => pick(entry, shown));
  return isObject(result) ? pick(result, shown) : null;
}

/** The members of an object with these names, without those that it does not have. */
export function pick(
  value: Readonly<Record<string, unknown>>,
  fields: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(
    fields.filter((name) => Object.hasOwn(value, name)).map((name) => [name, value[name]]),
  );
}
