import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fits } from '../../../src/daemon/eval/eval-tools.ts';
import { readCases } from '../../../src/daemon/eval/read-cases.ts';

const problemsOf = (text: string) =>
  readCases('cases.yaml', text).problems.map(({ location, problem }) => `${location}: ${problem}`);

describe('a file of cases', () => {
  it('is read with its defaults', () => {
    const { cases, problems } = readCases('cases.yaml', '- name: it\n  turns: [{ say: Hello }]\n');
    expect(problems).toEqual([]);
    expect(cases).toEqual([
      {
        ...{ file: 'cases.yaml', line: 1, name: 'it', as: null, channel: 'webchat', user: null, at: null },
        ...{ tools: 'recorded', stubs: new Map(), recorded: [], before: [], remembered: [] },
        turns: [{ say: 'Hello', expect: { matches: [], lacks: [], calls: null, asks: null } }],
        ...{ canaries: [], repeat: 1, rubric: [] },
      },
    ]);
  });

  it('may have its stubs under `tools` or beside it, with a status and arguments', () => {
    const stub = '{ shop_getOrder: { status: 404, json: { error: none } } }';
    for (const written of [`tools: { stubs: ${stub} }`, `stubs: ${stub}`]) {
      const { cases } = readCases('f', `- { name: it, ${written}, turns: [{ say: Hello }] }`);
      expect(cases[0]?.stubs).toEqual(
        new Map([['shop_getOrder', [{ args: {}, status: 404, result: { error: 'none' } }]]]),
      );
    }
  });

  it('has a sample', () => {
    const sample = readFileSync(new URL('../../../config/eval/shop.yaml', import.meta.url), 'utf8');
    const { cases, problems } = readCases('shop.yaml', sample);
    expect(problems).toEqual([]);
    expect(cases.map(({ line }) => line)).toEqual(
      [...cases.map(({ line }) => line)].sort((a, b) => Number(a) - Number(b)),
    );
  });

  it.each([
    ['- name: [', 'cases.yaml, line 1: is not YAML'],
    ['name: it', 'cases.yaml: is not a list of cases'],
    ['\n- { name: it }', 'cases.yaml, line 2: '],
    ['- { name: it, turns: [] }', 'cases.yaml, line 1: '],
    ['- { name: it, turns: [{ says: Hello }] }', 'cases.yaml, line 1: '],
    ['- { name: it, tools: live, as: { sub: ada }, turns: [{ say: x }] }', 'cases.yaml, line 1: is `live`'],
    [
      '- name: it\n  turns:\n    - say: x\n      expect: { reply: { matches: "/(/" } }',
      'cases.yaml, line 4: is not a regular',
    ],
    [
      '- name: it\n  canaries: [Ada]\n  turns: [{ say: I am ada }]',
      'cases.yaml, line 2: is in what the case says',
    ],
    ['- { name: it, at: tomorrow, turns: [{ say: x }] }', 'cases.yaml, line 1: is not a time'],
  ])('is refused with its line: %s', (text, expected) => {
    expect(problemsOf(text)).toEqual([expect.stringContaining(expected)]);
  });
});

it('arguments fit if they have all that are wanted', () => {
  expect(fits({}, { a: 1 })).toBe(true);
  expect(fits({ a: { b: 1 } }, { a: { b: 1, c: 2 } })).toBe(true);
  expect(fits({ a: [1] }, { a: [1, 2] })).toBe(false);
  expect(fits({ a: 1 }, {})).toBe(false);
});
