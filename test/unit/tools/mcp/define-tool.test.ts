import { describe, expect, it } from 'vitest';
import { toolParameters } from '../../../../src/daemon/tools/mcp/define-tool.ts';

const made = (schema: unknown, bind: Record<string, string> = {}) =>
  toolParameters(JSON.stringify(schema), bind);
const properties = { query: { type: 'string' }, customer: { type: 'string' } };

describe('the schema of the arguments of an MCP tool', () => {
  it.each([
    [{ type: 'object', properties, additionalProperties: true }, { additionalProperties: false }],
    [{}, { type: 'object', properties: {}, additionalProperties: false }],
    [
      { allOf: [{ properties }], additionalProperties: {}, unevaluatedProperties: true },
      { allOf: [{ properties }], unevaluatedProperties: false },
    ],
  ])('is closed: %j', (schema, closed) => {
    const { parameters } = made(schema) as { parameters: object };
    expect(parameters).toMatchObject(closed);
    expect(Object.values(parameters)).not.toContain(true);
  });

  it.each([
    [{ properties: [] }, {}, 'the schema of its arguments is not a JSON Schema of an object'],
    [{ properties: { a: 7 } }, {}, 'the schema of its arguments is not a valid JSON Schema'],
    [{ properties: { a: { pattern: '(' } } }, {}, 'the schema of its arguments is not a valid JSON Schema'],
    [{ properties }, { shop: 'sub' }, 'it has no argument `shop`, which the entry binds'],
    [
      { properties, anyOf: [{ required: ['customer'] }] },
      { customer: 'sub' },
      'its arguments cannot be bound, because its schema refers to other schemas or combines them',
    ],
    [
      {
        $ref: '#/$defs/d0',
        $defs: Object.fromEntries(
          Array.from({ length: 40 }, (_, n) => [
            `d${n}`,
            n === 39 ? {} : { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
          ]),
        ),
      },
      {},
      'the schema of its arguments has too many alternatives: more than 10000 for one value',
    ],
  ])('makes the tool unusable: %j with the bindings %j', (schema, bind, unusable) => {
    expect(made(schema, bind)).toEqual({ unusable });
  });
});
