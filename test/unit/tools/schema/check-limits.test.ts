import { describe, expect, it } from 'vitest';
import { checkArguments } from '../../../../src/daemon/tools/schema/check-arguments.ts';
import { checkSchema, compileSchema } from '../../../../src/daemon/tools/schema/compile-schema.ts';
import type { JsonSchema } from '../../../../src/daemon/tools/tool.ts';
import { cpuTime } from '../../../support/cpu-time.ts';
import { effort } from '../../../support/effort.ts';

// Schemas come from other people's documents and servers, and arguments from models. Neither may block the daemon.

const TOO_SLOW = 'The arguments take too long to check. Use fewer or simpler values.';
/** The limit of a check is 250 ms, and of compiling a schema more. */
const SOON_MS = 2_000;

/** The result of the work, which must not take much processor time. */
function soon<T>(work: () => T): T {
  const results: T[] = [];
  const took = cpuTime(() => {
    results.push(work());
  });
  expect(took).toBeLessThan(SOON_MS);
  return results[0] as T;
}

const nested = (depth: number, leaf: unknown, wrap: (inner: unknown, depth: number) => unknown): unknown =>
  Array.from({ length: depth }).reduce((inner, _, index) => wrap(inner, index), leaf);

/** A language of filters, as APIs of search engines and data bases have it. */
const filters = (tagged: boolean): JsonSchema => {
  const filter = { $ref: '#/$defs/Filter' };
  const list = { anyOf: [{ type: 'array', items: filter }, filter] };
  const named = (op: string) => ({ op: tagged ? { const: op } : { type: 'string' } });
  return {
    type: 'object',
    properties: { filter },
    additionalProperties: false,
    $defs: {
      Filter: {
        oneOf: ['And', 'Or', 'Not', 'Equals'].map((name) => ({ $ref: `#/$defs/${name}` })),
      },
      And: { type: 'object', properties: { of: list, ...named('and') }, required: ['op', 'of'] },
      Or: { type: 'object', properties: { of: list, ...named('or') }, required: ['op', 'of'] },
      Not: { type: 'object', properties: { not: filter, ...named('not') }, required: ['op', 'not'] },
      Equals: {
        type: 'object',
        properties: { field: { type: 'string' }, value: {}, ...named('equals') },
        required: ['op', 'field', 'value'],
      },
    },
  };
};
const deep = (levels: number, leaf: unknown) => ({
  filter: nested(levels, leaf, (inner, index) => ({ op: index % 2 === 0 ? 'and' : 'or', of: [inner] })),
});

describe('a language of filters in which each level has several forms', () => {
  const equals = { op: 'equals', field: 'a', value: 1 };

  it('is checked along the named forms, so depth costs nothing', () => {
    // Two levels for each filter: 32 levels of objects and lists hold 15 filters.
    const args = deep(14, equals);
    expect(soon(() => checkArguments(filters(true), args))).toEqual({ ok: true, args });
    const direct = {
      filter: nested(30, equals, (of, index) => ({ op: index % 2 === 0 ? 'and' : 'or', of })),
    };
    expect(soon(() => checkArguments(filters(true), direct))).toEqual({ ok: true, args: direct });
    expect(soon(() => checkArguments(filters(true), deep(14, { op: 'equals', field: 'a' })))).toEqual({
      ok: false,
      message: expect.stringMatching(/: The argument `filter(\.of\.0){14}\.value` is missing\.$/),
    });
  });

  it('is accepted with forms that nothing tells apart', () => {
    const args = deep(14, equals);
    expect(soon(() => checkArguments(filters(false), args))).toEqual({ ok: true, args });
  });

  it('is refused in words if forms that nothing tells apart take too long', () => {
    const schema = filters(false);
    const few = { filter: nested(3, { op: 7 }, (of) => ({ op: 'x', of })) };
    expect(soon(() => checkArguments(schema, few))).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^The argument `filter.*fits none of its/),
    });
    const many = { filter: nested(17, { op: 7 }, (of) => ({ op: 'x', of })) };
    expect(JSON.stringify(many).length).toBeLessThan(499);
    expect(soon(() => checkArguments(schema, many))).toEqual({
      ok: false,
      message: TOO_SLOW,
      too_slow: true,
    });
  });
});

describe('the size of arguments is limited before anything is checked', () => {
  const open: JsonSchema = { type: 'object' };
  const messageOf = (args: unknown) => soon(() => checkArguments(open, args));

  it('to 64 KiB of JSON', () => {
    expect(messageOf({ a: 'x'.repeat(65_000) })).toMatchObject({ ok: true });
    const message = 'The arguments are too large: at most 64 KiB of JSON can be sent.';
    expect(messageOf({ a: 'x'.repeat(65_536) })).toEqual({ ok: false, message });
    expect(messageOf({ a: 'ü'.repeat(33_000) })).toEqual({ ok: false, message });
    expect(messageOf({ a: Array.from({ length: 5_000_000 }, () => 0) })).toMatchObject({ ok: false });
  });

  it('to 32 levels of objects and lists', () => {
    const list = (levels: number) => ({ a: nested(levels - 1, 1, (inner) => [inner]) });
    expect(messageOf(list(32))).toMatchObject({ ok: true });
    const message =
      'The arguments are nested too deeply: at most 32 levels of objects and lists can be sent.';
    expect(messageOf(list(33))).toEqual({ ok: false, message });
    expect(messageOf(list(200_000))).toMatchObject({ ok: false });
  });

  it('to 10,000 values', () => {
    const list = (length: number) => ({ a: Array.from({ length }, () => 1) });
    expect(messageOf(list(9_998))).toMatchObject({ ok: true });
    const message = 'The arguments have too many values: at most 10,000 can be sent.';
    expect(messageOf(list(10_000))).toEqual({ ok: false, message });
  });
});

describe('a check that takes too long is refused in words', () => {
  const objects = Array.from({ length: 3_000 }, (_, index) => ({ a: 'x', b: index }));
  it.each<[string, JsonSchema, unknown]>([
    ['a format', { type: 'string', format: 'url' }, `http://a@${'::'.repeat(30_000)}!`],
    [
      'the pattern of names',
      { type: 'object', patternProperties: { '^(a+)+$': {} }, additionalProperties: false },
      { [`${'a'.repeat(60)}!`]: 1 },
    ],
    [
      'names that a schema checks',
      { type: 'object', propertyNames: { pattern: '^(a+)+$' } },
      { [`${'a'.repeat(60)}!`]: 1 },
    ],
    [
      'items that a list must contain',
      { type: 'array', contains: { pattern: '^(a+)+$' } },
      [`${'a'.repeat(60)}!`],
    ],
  ])('%s', (_, schema, value) => {
    const checked = soon(() => checkArguments({ type: 'object', properties: { value: schema } }, { value }));
    expect(checked).toEqual({ ok: false, message: TOO_SLOW, too_slow: true });
  });

  it('but not if the items of a long list must differ, which is checked quickly', () => {
    const schema = { type: 'object', properties: { value: { type: 'array', uniqueItems: true } } };
    expect(soon(() => checkArguments(schema, { value: objects })).ok).toBe(true);
    expect(soon(() => checkArguments(schema, { value: [...objects, { b: 7, a: 'x' }] }))).toEqual({
      ok: false,
      message: 'The argument `value` must not have equal items.',
    });
  });

  it('and the next check is not affected', () => {
    const schema = { type: 'object', properties: { value: { type: 'string', pattern: '^(a+)+$' } } };
    const checked = soon(() => checkArguments(schema, { value: `${'a'.repeat(60)}!` }));
    expect(checked).toEqual({ ok: false, message: TOO_SLOW, too_slow: true });
    expect(checkArguments(schema, { value: 'aa' })).toEqual({ ok: true, args: { value: 'aa' } });
  });
});

describe('patterns of a schema', () => {
  const checked = (schema: JsonSchema, text: string) =>
    soon(() =>
      checkArguments({ type: 'object', properties: { text: { type: 'string', ...schema } } }, { text }),
    );

  it.each([
    ['^[a-z]+$', 'abc', 'A'],
    ['^[a-z0-9]+(?:-[a-z0-9]+)*$', 'a-slug-1', 'a--'],
    ['^(\\d{4})-(\\d{2})$', '2026-11', '26-11'],
    ['^\\p{L}+ ?\\p{L}+$', 'Ärö Öl', '1'],
  ])('such as %s are compared with the value', (pattern, fits, differs) => {
    expect(checked({ pattern }, fits)).toMatchObject({ ok: true });
    expect(checked({ pattern }, differs)).toMatchObject({ ok: false });
  });

  const explosive = ['^(a|a)*$', '(.*a){20}', '^(a|aa)+$', '^(?:a?){40}a{40}$', '^(a*)*b$'];
  it.each(explosive.slice(0, effort(2, explosive.length)))(
    'such as %s cannot block the daemon',
    (pattern) => {
      expect(checked({ pattern }, `${'a'.repeat(35)}!`)).toHaveProperty('ok');
    },
  );

  const anywhere = ['^c|a+$', 'a+$', '[^b]+$', '.*c'];
  it.each(anywhere.slice(0, effort(1, anywhere.length)))(
    'such as %s, which can begin anywhere in the text, cannot block the daemon either',
    (pattern) => {
      expect(checked({ pattern }, `${'a'.repeat(65_000)}b`)).toMatchObject({ ok: false, message: TOO_SLOW });
    },
  );
});

describe('references that lead somewhere else than they seem to', () => {
  const forms = (next: object) => ({
    anyOf: [1, 2].map((minProperties) => ({ type: 'object', properties: { a: next }, minProperties })),
  });
  it.each<[string, JsonSchema]>([
    [
      'a schema with an `$id` of its own',
      {
        type: 'object',
        properties: { a: { $ref: 'https://x.example/f' } },
        $defs: { f: { $id: 'https://x.example/f', ...forms({ $ref: 'f' }) } },
      },
    ],
    [
      'a reference within such a schema',
      {
        type: 'object',
        properties: { a: { $ref: 'https://x.example/f' } },
        $defs: { f: { $id: 'https://x.example/f', ...forms({ $ref: '#' }) }, a: {} },
      },
    ],
    ['a dynamic reference', { type: 'object', $dynamicAnchor: 'f', ...forms({ $dynamicRef: '#f' }) }],
  ])('cannot block the daemon: %s', (_, schema) => {
    const args = nested(31, {}, (a) => ({ a }));
    const wrong = nested(31, 7, (a) => ({ a, b: 1 }));
    expect(soon(() => checkArguments(schema, args))).toHaveProperty('ok');
    expect(soon(() => checkArguments({ ...schema, $comment: 'other' }, wrong))).toHaveProperty('ok');
  });
});

describe('a schema that would explode is refused before a call', () => {
  const twice = (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] });
  const chain = (length: number, link: (next: string) => object): JsonSchema => ({
    type: 'object',
    $ref: '#/$defs/d0',
    $defs: Object.fromEntries(
      Array.from({ length }, (_, index) => [`d${index}`, index === length - 1 ? {} : link(`d${index + 1}`)]),
    ),
  });

  it.each<[string, JsonSchema, string]>([
    ['40 definitions, each of which uses the next one twice', chain(40, twice), 'has too many alternatives'],
    [
      'the same with anchors',
      {
        type: 'object',
        $ref: '#a0',
        $defs: Object.fromEntries(
          Array.from({ length: 40 }, (_, index) => [
            `d${index}`,
            {
              $anchor: `a${index}`,
              ...(index === 39 ? {} : { anyOf: [{ $ref: `#a${index + 1}` }, { $ref: `#a${index + 1}` }] }),
            },
          ]),
        ),
      },
      'has too many alternatives',
    ],
    [
      'a chain of 5,000 references',
      chain(5_000, (next) => ({ $ref: `#/$defs/${next}` })),
      'refers to schemas that refer to schemas',
    ],
    ['a reference to itself', chain(2, () => ({ $ref: '#/$defs/d0' })), 'refers to itself'],
    [
      'definitions that refer to each other for the same value',
      {
        type: 'object',
        $ref: '#/$defs/a',
        $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: { anyOf: [{ $ref: '#/$defs/a' }] } },
      },
      'refers to itself',
    ],
    [
      'schemas within 1,000 schemas',
      nested(1_000, { type: 'object' }, (items) => ({ type: 'array', items })) as JsonSchema,
      'is nested too deeply',
    ],
    [
      '100,000 schemas',
      {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`p${n}`, {}])),
      },
      'is too large',
    ],
  ])('%s', (_, schema, problem) => {
    expect(() => soon(() => checkSchema(schema))).toThrow(problem);
    expect(() => soon(() => compileSchema(schema))).toThrow(problem);
  });

  it('but not if it is recursive along the values', () => {
    const tree: JsonSchema = {
      type: 'object',
      properties: { root: { $ref: '#/$defs/node' } },
      $defs: { node: { type: 'object', properties: { children: { items: { $ref: '#/$defs/node' } } } } },
    };
    checkSchema(tree);
    const args = { root: { children: [{ children: [] }] } };
    expect(checkArguments(tree, args)).toEqual({ ok: true, args });
  });
});
