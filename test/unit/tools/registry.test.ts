import { expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/daemon/settings/problem.ts';
import { createRegistry, fixedSource } from '../../../src/daemon/tools/registry.ts';
import type { Tool, ToolSource } from '../../../src/daemon/tools/tool.ts';
import { collectLog } from '../../support/log-lines.ts';
import { accessTo, sourceOf, toolOf } from '../../support/tools.ts';

const info = sourceOf({ name: 'shop' });
const other = sourceOf({ name: 'other' });
const problem = { setting: 'tools[0]', value: null, source: null, problem: 'is wrong', right: 'right' };

function create(...sources: ToolSource[]) {
  const { log, lines } = collectLog();
  return { registry: createRegistry(sources, { access: accessTo(undefined), log }), lines };
}

test.each<[string, Partial<Tool>]>([
  ['a name that models do not accept', { name: 'a b' }],
  ['a name that is too long', { name: 'x'.repeat(65) }],
  ['an invalid effect', { effect: 'both' as never }],
  ['an invalid confirmation', { confirm: undefined as never }],
])('a tool with %s is not offered, and one warning is logged', (_, rest) => {
  const { registry, lines } = create(
    fixedSource(info, [toolOf({ source: info, ...rest }), toolOf({ source: info })]),
  );
  expect(registry.tools().map(({ name }) => name)).toEqual(['look']);
  registry.tools();
  expect(lines).toMatchObject([
    { level: 'warn', source: 'shop', msg: 'a tool cannot be used, and is not offered' },
  ]);
});

test('two tools with the same name at the start cause a configuration error that names both sources', async () => {
  const { registry } = create(
    fixedSource(info, [toolOf({ source: info })]),
    fixedSource(other, [toolOf({ source: other })]),
  );
  await expect(registry.start()).rejects.toThrow('is the name of a tool of shop and of other');
});

test('a tool that appears later with a name that is already used is not offered', async () => {
  let tools: readonly Tool[] = [];
  const late: ToolSource = { ...fixedSource(other, []), list: () => tools };
  const { registry, lines } = create(fixedSource(info, [toolOf({ source: info })]), late);
  await registry.start();
  tools = [toolOf({ source: other }), toolOf({ source: other, name: 'new' })];
  expect(registry.tools().map(({ name, source }) => [name, source.name])).toEqual([
    ['look', 'shop'],
    ['new', 'other'],
  ]);
  expect(lines).toMatchObject([{ level: 'warn', tool: 'look', source: 'other', offered_by: 'shop' }]);
});

test('the start reports the configuration errors of all sources at once', async () => {
  const failing = (setting: string): ToolSource => ({
    ...fixedSource(info, []),
    start: () => Promise.reject(new ConfigurationError([{ ...problem, setting }])),
  });
  const { registry } = create(failing('tools[0]'), failing('tools[1]'));
  const error = await registry.start().catch((caught: unknown) => caught);
  expect((error as ConfigurationError).problems.map(({ setting }) => setting)).toEqual([
    'tools[0]',
    'tools[1]',
  ]);
});

test('every source is stopped, even if one of them cannot be stopped', async () => {
  const stopped: string[] = [];
  const stopping = (name: string, fails = false): ToolSource => ({
    ...fixedSource(info, []),
    async stop() {
      stopped.push(name);
      if (fails) throw new Error('no');
    },
  });
  await create(stopping('a', true), stopping('b')).registry.stop();
  expect(stopped).toEqual(['a', 'b']);
});
