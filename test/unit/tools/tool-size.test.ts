import { expect, it } from 'vitest';
import { largestArguments, toolTokens, toolWarnings } from '../../../src/daemon/tools/tool-size.ts';
import { toolOf } from '../../support/tools.ts';

const sized = (name: string, tokens: number) => {
  const tool = toolOf({ name, description: '' });
  return { ...tool, description: 'x'.repeat(4 * (tokens - toolTokens(tool))) };
};

it('the tokens of a tool are those of its name, description and schema', () => {
  const tool = toolOf();
  const text = JSON.stringify({
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
  });
  expect(toolTokens(tool)).toBe(Math.ceil(text.length / 4));
});

it('as many tools and tokens as models accept cause no warning', () => {
  expect(toolWarnings([])).toEqual([]);
  expect(toolWarnings(Array.from({ length: 128 }, (_, number) => toolOf({ name: `t${number}` })))).toEqual(
    [],
  );
  expect(toolWarnings(['a', 'b', 'c', 'd'].map((name) => sized(name, 4_000)))).toEqual([]);
});

it('more than 128 tools cause a warning', () => {
  const tools = Array.from({ length: 129 }, (_, number) => toolOf({ name: `t${number}` }));
  expect(toolWarnings(tools)).toEqual([expect.stringContaining('the agent has 129 tools')]);
});

it('more than 16,000 tokens in all cause a warning', () => {
  const tools = ['a', 'b', 'c', 'd', 'e'].map((name) => sized(name, 3_201));
  expect(toolWarnings(tools)).toEqual([expect.stringContaining('have about 16005 tokens')]);
});

it('more than 4,000 tokens in one tool cause a warning that names the tool', () => {
  expect(toolWarnings([sized('large', 4_001), sized('small', 100)])).toEqual([
    expect.stringContaining('the tool large has about 4001 tokens'),
  ]);
});

const text = (tokens: number) => ({ type: 'string', description: 'x'.repeat(4 * tokens) });
const parameters = {
  type: 'object',
  properties: {
    id: text(1_000),
    expand: { type: 'boolean' },
    body: {
      allOf: [
        { $ref: '#/$defs/Base' },
        { type: 'object', properties: { method: { $ref: '#/$defs/Method' }, note: text(10) } },
      ],
    },
  },
  $defs: {
    Base: { type: 'object', properties: { amount: text(500) } },
    Method: { oneOf: [{ $ref: '#/$defs/Card' }, { type: 'array', items: { $ref: '#/$defs/Method' } }] },
    Card: text(4_000),
  },
};

it('the largest arguments are told with the definitions that they use, and those in the body by their names', () => {
  expect(largestArguments(parameters)).toEqual([
    { name: 'body.method', tokens: expect.closeTo(4_050, -2) },
    { name: 'id', tokens: expect.closeTo(1_010, -2) },
    { name: 'body.amount', tokens: expect.closeTo(510, -2) },
  ]);
});

it('a body without properties is one argument, also if it is recursive', () => {
  const properties = { body: { $ref: '#/$defs/Node' }, n: { type: 'integer' } };
  const $defs = { Node: { anyOf: [text(300), { type: 'array', items: { $ref: '#/$defs/Node' } }] } };
  expect(largestArguments({ type: 'object', properties, $defs })).toMatchObject([
    { name: 'body' },
    { name: 'n' },
  ]);
  expect(largestArguments({ type: 'object' })).toEqual([]);
});

it('the warning of a tool that is too large says where its tokens are, and what to do', () => {
  const [warning] = toolWarnings([toolOf({ name: 'pay', parameters })]);
  expect(warning).toMatch(
    /^the definition of the tool pay has about \d+ tokens; more than 4000 are too many for one tool; the largest arguments are `body\.method` \(about \d+\), `id` \(about \d+\), and `body\.amount` \(about \d+\); list an operation with fewer arguments, bind those that come from the token, or write a module that takes only what the agent needs$/,
  );
});
