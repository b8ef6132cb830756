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

/** A copy of a value that can be written as JSON. */
export function copyOfJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
/** `{` and `[`, like `}` and `]`, differ only in the bit that distinguishes upper and lower case of letters. */
const [OPEN, CLOSE, CASE] = [0x5b, 0x5d, 0x20];

/** Whether braces and brackets outside of strings are nested more than `levels` deep. Reads each character once. */
export function nestsDeeper(json: string, levels: number): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) at = endOfString(json, at);
    else if ((character & ~CASE) === OPEN) {
      if (++depth > levels) return true;
    } else if ((character & ~CASE) === CLOSE) depth--;
  }
  return false;
}

/** @param quote where the string begins */
function endOfString(json: string, quote: number): number {
  let at = quote + 1;
  for (; at < json.length; at++) {
    const character = json.charCodeAt(at);
    if (character === QUOTE) break;
    if (character === BACKSLASH) at++;
  }
  return at;
}

/** Maximum nesting depth. No value that a person writes is nested this deeply. */
const DEPTH_MAX = 500;

interface Tree {
  /** The number of values. Shared values count each time that they occur. */
  size: number;
  depth: number;
}

/**
 * Why code that walks through the whole value might not end; null if it will. Aliases of YAML can repeat a value so often
 * that a short file has more values than memory, and can make a value contain itself.
 * @param max the maximum number of values, including repetitions.
 * @returns completes the sentence "The file …".
 */
export function treeFault(value: unknown, max: number): string | null {
  /** The trees that have been measured; null while a tree is being measured. */
  const measured = new Map<object, Tree | null>();
  const measure = (one: unknown, level: number): Tree | string => {
    if (typeof one !== 'object' || one === null) return { size: 1, depth: 1 };
    const known = measured.get(one);
    if (known === null) return 'contains a value that refers to itself';
    if (known !== undefined) return known;
    if (level > DEPTH_MAX) return TOO_DEEP;
    measured.set(one, null);
    const tree = { size: 1, depth: 1 };
    for (const inner of Object.values(one)) {
      const found = measure(inner, level + 1);
      if (typeof found === 'string') return found;
      tree.size += found.size;
      tree.depth = Math.max(tree.depth, found.depth + 1);
    }
    measured.set(one, tree);
    return tree;
  };
  const tree = measure(value, 1);
  if (typeof tree === 'string') return tree;
  if (tree.depth > DEPTH_MAX) return TOO_DEEP;
  return tree.size > max ? `has more than ${max} values, with those that aliases repeat` : null;
}

const TOO_DEEP = `is nested more than ${DEPTH_MAX} levels deep`;

/** The value with all its texts replaced, and the names of its members. */
export function mapTexts(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === 'string') return replace(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, replace));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [replace(name), mapTexts(member, replace)]),
  );
}

/** All texts in a value, at any depth: also its numbers as they are written, and the names of members. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...textsIn(member)]);
}

/** All texts in a value, at any depth, without the names of members. */
export function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(stringsIn);
}
