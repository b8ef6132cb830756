import { describe, expect, it } from 'vitest';
import { admitTool } from '../../../../src/daemon/tools/registry.ts';
import { checkArguments } from '../../../../src/daemon/tools/schema/check-arguments.ts';
import { withOriginalNames, withSafeNames } from '../../../../src/daemon/tools/schema/safe-names.ts';
import type { JsonSchema, ToolArguments } from '../../../../src/daemon/tools/tool.ts';
import { bindOne, toolOf } from '../../../support/tools.ts';

const LONG = 'a'.repeat(70);
const SAFE = /^[A-Za-z0-9_.-]{1,64}$/;

const namesOf = ({ properties }: JsonSchema) => Object.keys(properties as object);

describe('the names of properties that models refuse', () => {
  it('get a safe form, which a description explains', () => {
    const schema = withSafeNames({
      type: 'object',
      properties: {
        id: { type: 'string' },
        'filter[x]': { type: 'string', description: 'A filter.' },
        'DateSent<': { type: 'string' },
        DateSent: {},
        $and: { type: 'array' },
        [LONG]: true,
      },
      required: ['id', 'DateSent<'],
    });
    expect(namesOf(schema)).toEqual([
      'id',
      'filter_x_',
      'DateSent_lt',
      'DateSent',
      '_and',
      expect.stringMatching(/^a{55}_[0-9a-f]{8}$/),
    ]);
    expect(schema).toMatchObject({
      properties: {
        id: { type: 'string' },
        filter_x_: { type: 'string', description: 'A filter. The API calls it `filter[x]`.' },
        DateSent_lt: { type: 'string', description: 'The API calls it `DateSent<`.' },
      },
      required: ['id', 'DateSent_lt'],
    });
  });

  it('stay different, and are the same at every start, in whatever order', () => {
    const names = ['a[b]', 'a(b)', 'a_b_', 'ü', 'ö', '', '日本'];
    const aliases = (order: readonly string[]) => {
      const properties = Object.fromEntries(order.map((name) => [name, { const: name }]));
      const safe = withSafeNames({ type: 'object', properties }).properties as Record<
        string,
        { const: string }
      >;
      return Object.fromEntries(Object.entries(safe).map(([alias, property]) => [property.const, alias]));
    };
    const first = aliases(names);
    expect(new Set(Object.values(first)).size).toBe(names.length);
    for (const alias of Object.values(first)) expect(alias).toMatch(SAFE);
    expect(first.a_b_).toBe('a_b_');
    expect(aliases(names.toReversed())).toEqual(first);
  });

  it('are not looked for twice: a schema with safe names only is the same schema', () => {
    const schema = { type: 'object', properties: { a: { properties: { 'b.c-d_e': {} } } } };
    expect(withSafeNames(schema)).toBe(schema);
    const args = { a: 1 };
    expect(withOriginalNames(schema, args)).toBe(args);
  });
});

describe('arguments with safe names', () => {
  const filter = { $ref: '#/$defs/Filter' };
  const schema = withSafeNames({
    type: 'object',
    properties: {
      'where[]': { type: 'array', items: filter },
      free: { type: 'object', additionalProperties: { type: 'object', properties: { '@id': {} } } },
      also: { $ref: '#/properties/where%5B%5D' },
    },
    additionalProperties: false,
    dependentRequired: { 'where[]': ['free'] },
    $defs: {
      Filter: {
        anyOf: [
          { type: 'object', properties: { $and: { type: 'array', items: filter } }, required: ['$and'] },
          { type: 'object', properties: { field: {} }, required: ['field'] },
        ],
      },
    },
  });
  const turned = (args: ToolArguments) => checkArguments(schema, args);

  it('are turned back at any depth, along references and forms', () => {
    const args = {
      where__: [{ _and: [{ field: 1 }, { _and: [] }] }],
      free: { x: { _id: 7 } },
      also: [{ _and: [] }],
    };
    expect(turned(args)).toEqual({
      ok: true,
      args: {
        'where[]': [{ $and: [{ field: 1 }, { $and: [] }] }],
        free: { x: { '@id': 7 } },
        also: [{ $and: [] }],
      },
    });
  });

  it('keep the names of members that the schema does not describe', () => {
    const args = { free: { _and: { where__: 1, _id: { _id: null } } } };
    expect(turned(args)).toEqual({
      ok: true,
      args: { free: { _and: { where__: 1, '@id': { _id: null } } } },
    });
  });

  it('are refused under names that are not in the schema, and described under names that are', () => {
    expect(turned({ 'where[]': [] })).toEqual({ ok: false, message: 'There is no argument `where[]`.' });
    expect(turned({ where__: [] })).toMatchObject({ ok: false });
    expect(turned({ free: { x: { _id: 1, '@id': 2 } } })).toEqual({
      ok: false,
      message: 'The arguments cannot be sent: an object has the member `@id` under two names. Use one.',
    });
  });

  it('reach the tool under the names of the API, and the model sees only safe names', async () => {
    const sent: ToolArguments[] = [];
    const tool = toolOf({
      parameters: { type: 'object', properties: { 'filter[state]': { type: 'string' } } },
      send: async (args) => {
        sent.push(args);
        return { outcome: 'answered', status: 200, result: null };
      },
    });
    const admitted = admitTool(tool, tool.source);
    expect(namesOf(admitted.parameters)).toEqual(['filter_state_']);
    const { bound } = bindOne(admitted);
    expect(await bound.call({ filter_state_: 'open' })).toMatchObject({ ok: true });
    expect(sent).toEqual([{ 'filter[state]': 'open' }]);
  });
});
