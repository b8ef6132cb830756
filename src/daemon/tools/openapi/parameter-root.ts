/** The parameter by which Rails, Symfony and Laravel replace the method of a POST, in a form, a query or JSON. */
export const METHOD_OVERRIDE = '_method';

/**
 * The names under which servers may read a parameter: `filter` for `Filter[a]`. Some servers ignore case, and PHP reads
 * a blank, a dot or an unclosed bracket in a name as `_`.
 */
export function rootsOf(name: string): readonly string[] {
  const lower = name.trim().toLowerCase();
  const [root = ''] = lower.split('[', 1);
  return [root.trim(), root.trim().replace(/[\s.\0]/g, '_'), lower.replace(/[\s.\0[]/g, '_')];
}

/** Whether a server may read two parameters as the same one. */
export function haveSameRoot(first: string, second: string): boolean {
  const roots = rootsOf(second);
  return rootsOf(first).some((root) => roots.includes(root));
}
