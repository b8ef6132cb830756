import { describe, expect, test } from 'vitest';
import { checkArguments } from '../../../../src/daemon/tools/schema/check-arguments.ts';
import { checkSchema } from '../../../../src/daemon/tools/schema/compile-schema.ts';
import { closeSchema } from '../../../../src/daemon/tools/schema/schema-parts.ts';
import type { JsonSchema } from '../../../../src/daemon/tools/tool.ts';

const ORDER: JsonSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^[A-Z]-[0-9]+$' },
    when: { type: 'string', format: 'date' },
    note: { type: ['string', 'null'] },
    body: {
      type: 'object',
      properties: {
        lines: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            properties: { sku: { type: 'string' }, count: { type: 'integer', minimum: 1, format: 'int32' } },
            required: ['sku'],
            additionalProperties: false,
          },
        },
        pay: { oneOf: [{ $ref: '#/$defs/card' }, { const: 'cash' }] },
      },
    },
  },
  required: ['id'],
  additionalProperties: false,
  $defs: { card: { type: 'object', properties: { last4: { type: 'string' } }, required: ['last4'] } },
};

const messageOf = (args: unknown, schema = ORDER) => {
  const checked = checkArguments(schema, args);
  return checked.ok ? expect.fail('the arguments must be refused') : checked.message;
};

test.each([[{ id: 2 ** 53 }], [{ id: 1, list: [{ at: -(2 ** 60) }] }]])(
  'an integer that a JavaScript number cannot store exactly is refused, because it could be a different id: %j',
  (args) => {
    expect(messageOf(args, { type: 'object' })).toBe(
      'An argument has a number with too many digits: it cannot be sent exactly. Tell the person.',
    );
  },
);

test('arguments that the schema allows are passed on unchanged', () => {
  const args = {
    id: 'A-1',
    when: '2026-02-28',
    note: null,
    body: { lines: [{ sku: 'x', count: 2 }], pay: 'cash' },
  };
  expect(checkArguments(ORDER, args)).toEqual({ ok: true, args });
});

describe('the description of an argument error, which a model uses to correct the arguments,', () => {
  test.each([
    [{}, 'The argument `id` is missing.'],
    [{ id: 'a' }, 'The argument `id` must match pattern "^[A-Z]-[0-9]+$".'],
    [{ id: 'A-1', when: '2026-02-30' }, 'The argument `when` must match format "date".'],
    [{ id: 'A-1', sub: 'bob' }, 'There is no argument `sub`.'],
    [{ id: 'A-1', body: { lines: [] } }, 'The argument `body.lines` must NOT have fewer than 1 items.'],
    [{ id: 'A-1', body: { lines: [{ sku: 'x' }, {}] } }, 'The argument `body.lines.1.sku` is missing.'],
    [
      { id: 'A-1', body: { lines: [{ sku: 'x', count: 0 }] } },
      'The argument `body.lines.0.count` must be >= 1.',
    ],
    [{ id: 'A-1', body: { lines: [{ sku: 'x', to: 1 }] } }, 'There is no argument `body.lines.0.to`.'],
    [{ id: 'A-1', body: { pay: {} } }, 'The argument `body.pay.last4` is missing.'],
    [[], 'The arguments must be one JSON object.'],
    ['{"id":"A-1"}', 'The arguments must be one JSON object.'],
    [{ id: 1n }, 'The arguments must be JSON.'],
  ])('is right for %o', (args, message) => {
    expect(messageOf(args)).toContain(message);
  });

  test('has at most 500 characters', () => {
    const schema = {
      type: 'object',
      properties: { kind: { enum: Array.from({ length: 999 }, (_, n) => n) } },
    };
    expect(messageOf({ kind: 'x' }, schema).length).toBe(500);
  });
});

describe('an explicit null', () => {
  test('is never left out: if the schema does not allow it, the model is told', () => {
    expect(messageOf({ id: 'A-1', when: null })).toBe(
      'The argument `when` cannot be null. Leave it out, or give it a value of type string.',
    );
    expect(messageOf({ id: 'A-1', body: { lines: [{ sku: 'x', count: null }] } })).toBe(
      'The argument `body.lines.0.count` cannot be null. Leave it out, or give it a value of type integer.',
    );
    expect(messageOf({ id: 'A-1', body: { pay: null } })).toBe(
      'The argument `body.pay` cannot be null. Leave it out, or give it a value.',
    );
    expect(messageOf({ id: null })).toContain('The argument `id` cannot be null.');
  });

  test('is kept if the schema allows null', () => {
    const args = { id: 'A-1', note: null };
    expect(checkArguments(ORDER, args)).toEqual({ ok: true, args });
  });

  test('is kept where the schema says nothing about the value', () => {
    const args = { body: { shared_link: null, deep: [{ x: null }] } };
    expect(checkArguments({ type: 'object', properties: { body: {} } }, args)).toEqual({ ok: true, args });
  });
});

test.each([Number.POSITIVE_INFINITY, Number.NaN, JSON.parse('1e400')])(
  'a number that JSON would write as null is refused: %s',
  (n) => {
    expect(messageOf({ n }, { type: 'object' })).toMatch(/^An argument has a number with too many digits/);
  },
);

test('names of the object prototype are ordinary members of free-form objects', () => {
  const json = '{"body":{"__proto__":{"a":1},"constructor":{"prototype":null},"toString":1}}';
  const checked = checkArguments({ type: 'object', properties: { body: {} } }, JSON.parse(json));
  expect(JSON.stringify(checked)).toBe(`{"ok":true,"args":${json}}`);
});

test('checkArguments returns a copy, so that checked values cannot change later', () => {
  const given = { id: 'A-1', body: { lines: [{ sku: 'x' }] } };
  const checked = checkArguments(ORDER, given);
  given.body.lines.push({ sku: 'y' });
  expect(checked).toEqual({ ok: true, args: { id: 'A-1', body: { lines: [{ sku: 'x' }] } } });
});

test('names of the object prototype are not accepted as arguments', () => {
  for (const name of ['constructor', 'toString', '__proto__'])
    expect(messageOf(JSON.parse(`{"id":"A-1","${name}":{}}`))).toBe(`There is no argument \`${name}\`.`);
});

test.each([
  'http://json-schema.org/draft-07/schema#',
  'https://json-schema.org/draft/2020-12/schema',
  undefined,
])('the dialect %s is known, and an unknown keyword is not an error', ($schema) => {
  const schema: JsonSchema = {
    ...($schema === undefined ? {} : { $schema }),
    type: 'object',
    properties: { n: { type: 'integer', 'x-unit': 'cm' } },
  };
  expect(checkArguments(schema, { n: 1 })).toEqual({ ok: true, args: { n: 1 } });
  expect(messageOf({ n: 'x' }, schema)).toBe('The argument `n` must be of type integer.');
});

describe('the top level of a schema is closed if the schema', () => {
  test.each<[string, JsonSchema]>([
    ['has only properties', { type: 'object', properties: { a: {} } }],
    ['says that it is open', { type: 'object', properties: { a: {} }, additionalProperties: true }],
    ['is composed', { type: 'object', allOf: [{ properties: { a: {} } }] }],
    [
      'refers to another schema',
      { $ref: '#/$defs/it', $defs: { it: { type: 'object', properties: { a: {} } } } },
    ],
    [
      'has an older dialect',
      { $schema: 'http://json-schema.org/draft-07/schema#', anyOf: [{ properties: { a: {} } }] },
    ],
  ])('%s', (_, schema) => {
    const closed = closeSchema(schema);
    expect(checkArguments(closed, { a: 1 })).toEqual({ ok: true, args: { a: 1 } });
    expect(messageOf({ a: 1, b: 2 }, closed)).toBe('There is no argument `b`.');
  });
});

describe('a schema that is checked but not compiled', () => {
  const open = { type: 'object', properties: {} };
  test.each([
    [{ ...open, properties: 7 }],
    [{ ...open, required: 'id' }],
    [{ ...open, properties: { id: { type: 'text' } } }],
    [{ ...open, $defs: { id: { minLength: -1 } } }],
  ])('is refused if it is %j', (schema) => {
    expect(() => checkSchema(schema)).toThrow(/schema is invalid/);
  });

  test('is accepted if only compiling it would fail', () => {
    expect(() => checkSchema({ ...open, $ref: '#/$defs/none' })).not.toThrow();
    expect(() => checkArguments({ ...open, $ref: '#/$defs/none' }, {})).toThrow(/none/);
  });
});
