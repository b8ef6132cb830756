import { expect, it } from 'vitest';
import { largestArguments, toolWarnings } from '../../../src/daemon/tools/tool-size.ts';
import { toolOf } from '../../support/tools.ts';

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
