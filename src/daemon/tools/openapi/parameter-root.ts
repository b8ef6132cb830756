import { isObject } from '../../../channel/json-object.ts';
import { isSameWord } from '../same-word.ts';
import { type ParameterForm, UnusableArgument } from './parameter-styles.ts';

/**
 * The parameters by which frameworks and APIs replace the method of a POST, in a form, a query or JSON: Rails, Symfony
 * and Laravel, Salesforce, ASP.NET and others.
 */
const METHOD_OVERRIDES = [
  '_method',
  '_httpmethod',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
];

/** Whether a server may read a parameter as one that replaces the method of the request. */
export function isMethodOverride(name: string): boolean {
  return listRoots(name).some((root) => METHOD_OVERRIDES.includes(root));
}

/**
 * Refuses an object whose members become separate parameters or fields, if one of them may replace another one or the
 * method of the request.
 * @param path the argument, for the message
 * @param all the names of all parameters or fields
 */
export function checkSpread(
  { name, style, explode }: ParameterForm,
  path: string,
  value: unknown,
  all: readonly string[],
): void {
  if (!explode || style === 'deepObject' || style === 'json' || !isObject(value)) return;
  const other = Object.keys(value).find(
    (key) => isMethodOverride(key) || all.some((one) => one !== name && haveSameRoot(one, key)),
  );
  if (other !== undefined) throw cannotContain(path, other);
}

export function cannotContain(path: string, name: string): UnusableArgument {
  return new UnusableArgument(`The argument \`${path}\` cannot contain \`${name.slice(0, 64)}\`.`);
}

/** Whether a server may read two parameters as the same one. */
export function haveSameRoot(first: string, second: string): boolean {
  if (isSameWord(first, second)) return true;
  const roots = listRoots(second);
  return listRoots(first).some((root) => roots.some((other) => other === root || isSameWord(other, root)));
}

/**
 * The names under which servers may read a parameter: `filter` for `Filter[a]`. Some servers ignore case, PHP ends a
 * name at a null character and reads a blank, a dot or an unclosed bracket in it as `_`, and Rack and Express leave out
 * brackets at the beginning. After a dot or a bracket follows a member.
 */
function listRoots(name: string): readonly string[] {
  const [read = ''] = name.split('\0', 1);
  const lower = read.trim().toLowerCase();
  const [root = ''] = lower.replace(/^[[\]\s]+/, '').split(/[[\].]/, 1);
  return [root.trim(), root.trim().replace(/\s/g, '_'), lower.replace(/[\s.[]/g, '_')];
}
