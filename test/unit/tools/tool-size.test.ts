import { expect, it } from 'vitest';
import { toolTokens, toolWarnings } from '../../../src/daemon/tools/tool-size.ts';
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
