/**
 * Marks the place in a body where a hostile value is inserted, because JSON.stringify cannot write some of these
 * values.
 */
const HERE = '@here@';

/** A text that exceeds the maximum length of a message. */
const LONG = 'x'.repeat(20_000);
const DEPTH = 2_000;

/** JSON values that no platform documents. */
const VALUES: Readonly<Record<string, string>> = {
  null: 'null',
  true: 'true',
  zero: '0',
  'a negative number': '-1',
  'a huge number': '1e308',
  'an empty text': '""',
  'white space': '" \\n "',
  'a control character': '"a\\u0000b"',
  'half a surrogate pair': '"a\\ud800b"',
  'the text `__proto__`': '"__proto__"',
  'a long text': `"${LONG}"`,
  'an empty list': '[]',
  'a list with null': '[null]',
  'an empty object': '{}',
  'deep lists': `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`,
  'deep objects': `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`,
};

/** Whole bodies that no platform sends. */
const WHOLE: Readonly<Record<string, string>> = {
  ...VALUES,
  nothing: '',
  'half a body': '{"a":',
  'an HTML page': '<html></html>',
  'a form': 'a=1&a=2&=&%',
};

/**
 * Makes hostile bodies from a valid body: each member is replaced and removed in turn, then the whole body is replaced.
 */
export function* hostileBodies(valid: string): Generator<{ title: string; body: string }> {
  const json = parsed(valid);
  if (json === undefined) yield* hostileForms(valid);
  else
    for (const path of pathsIn(json)) {
      const name = path.join('.');
      const [before = '', after = ''] = JSON.stringify(replaced(json, path, HERE)).split(`"${HERE}"`);
      for (const [title, value] of Object.entries(VALUES))
        yield { title: `${title} as ${name}`, body: before + value + after };
      yield { title: `a body without ${name}`, body: JSON.stringify(replaced(json, path, undefined)) };
    }
  for (const [title, body] of Object.entries(WHOLE)) yield { title: `${title} as body`, body };
}

function* hostileForms(valid: string): Generator<{ title: string; body: string }> {
  for (const [name, value] of new URLSearchParams(valid)) {
    for (const instead of ['', ' \n ', 'a\u0000b', '__proto__', LONG]) {
      const form = new URLSearchParams(valid);
      form.set(name, instead);
      yield { title: `${JSON.stringify(instead.slice(0, 12))} as ${name}`, body: form.toString() };
    }
    const [without, twice] = [new URLSearchParams(valid), new URLSearchParams(valid)];
    without.delete(name);
    twice.append(name, value);
    yield { title: `a form without ${name}`, body: without.toString() };
    yield { title: `${name} twice`, body: twice.toString() };
    yield { title: `a broken escape in ${name}`, body: `${without}&${name}=%F0%9F%zz` };
  }
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    // The body is not JSON, but a form.
    return undefined;
  }
}

/** The paths of all members of a value, outer members first. */
function* pathsIn(value: unknown, at: readonly string[] = []): Generator<readonly string[]> {
  if (at.length > 0) yield at;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* pathsIn(member, [...at, name]);
}

/**
 * Returns a copy with a different value at a path. If the value is undefined, the JSON of the copy lacks the member, or
 * has null if it is an item of a list.
 */
function replaced(value: unknown, [name, ...rest]: readonly string[], instead: unknown): unknown {
  if (name === undefined) return instead;
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  const members = copy as Record<string, unknown>;
  members[name] = replaced(members[name], rest, instead);
  return copy;
}
