/** A path of a document in its parts. */
export interface SplitPath {
  /** The path with its parameters in braces. */
  readonly template: string;
  /** The `name=value` pairs of the query that each request has. */
  readonly fixed: readonly string[];
  /** The names of the pairs that only name a parameter of the query: `id` for `?id={id}`. */
  readonly named: readonly string[];
}

const PARTS = /^((?:\{[^{}]*\}|[^?#{}])*)(?:\?([^#]*))?(?:#.*)?$/s;

/**
 * Splits a path of a document. Some documents describe several operations at one path, and tell them apart by a query
 * (`/responses?beta=true`), which is sent, or by a fragment (`/files/{id}#add_link`), which is not. A path that cannot be
 * split is the template as a whole.
 */
export function splitPath(path: string): SplitPath {
  const parts = PARTS.exec(path);
  if (parts === null) return { template: path, fixed: [], named: [] };
  const [, template = '', query = ''] = parts;
  const pairs = query.split('&').filter((pair) => pair !== '');
  const isNamed = (pair: string) => /\{[^{}]*\}/.test(pair);
  return {
    template,
    fixed: pairs.filter((pair) => !isNamed(pair)),
    named: pairs.filter(isNamed).map(nameOf),
  };
}

/** The name of a `name=value` pair. */
export function nameOf(pair: string): string {
  return pair.split('=', 1)[0] ?? '';
}
