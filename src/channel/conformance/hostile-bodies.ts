/** Stands in a body for what is put there, since no JSON of ours is as deep or as broken. */
const HERE = '@here@';

/** A text over the limit of messages, and of all that a store would index. */
const LONG = 'x'.repeat(20_000);
const DEPTH = 2_000;

/** JSON that a platform's documentation does not speak of. */
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
  'the name of a prototype': '"__proto__"',
  'a long text': `"${LONG}"`,
  'an empty list': '[]',
  'a list of nothing': '[null]',
  'an empty object': '{}',
  'deep lists': `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`,
  'deep objects': `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`,
};

/** What is no body of a platform at all. */
const WHOLE: Readonly<Record<string, string>> = {
  ...VALUES,
  nothing: '',
  'half a body': '{"a":',
  'a page': '<html></html>',
  'a form': 'a=1&a=2&=&%',
};

/** Bodies made of one that is right: each of its members replaced and left out, in turn, then all of it. */
export function* hostileBodies(right: string): Generator<{ title: string; body: string }> {
  const json = parsed(right);
  if (json === undefined) yield* hostileForms(right);
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

function* hostileForms(right: string): Generator<{ title: string; body: string }> {
  for (const [name, value] of new URLSearchParams(right)) {
    for (const instead of ['', ' \n ', 'a\u0000b', '__proto__', LONG]) {
      const form = new URLSearchParams(right);
      form.set(name, instead);
      yield { title: `${JSON.stringify(instead.slice(0, 12))} as ${name}`, body: form.toString() };
    }
    const [without, twice] = [new URLSearchParams(right), new URLSearchParams(right)];
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
    // A form then.
    return undefined;
  }
}

/** Where something stands in a value, outer places first. */
function* pathsIn(value: unknown, at: readonly string[] = []): Generator<readonly string[]> {
  if (at.length > 0) yield at;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* pathsIn(member, [...at, name]);
}

/** A copy in which something else stands at a place; undefined: nothing, or null in a list. */
function replaced(value: unknown, [name, ...rest]: readonly string[], instead: unknown): unknown {
  if (name === undefined) return instead;
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  const members = copy as Record<string, unknown>;
  members[name] = replaced(members[name], rest, instead);
  return copy;
}
