import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { command } from '../support/command.ts';
import { SHOP_ENV, shopFolder } from '../support/eval-world.ts';

// Tests the command line of agentd-eval(1). No daemon runs.

const CASES = `
- name: greets & <welcomes>
  turns: [{ say: Hello, expect: { reply: { matches: /assistant/ } } }]
- name: says goodbye
  turns: [{ say: Hello, expect: { reply: { matches: /goodbye/ } } }]
`;

let folder: string;
beforeAll(() => {
  folder = shopFolder();
  writeFileSync(join(folder, 'cases.yaml'), CASES);
  mkdirSync(join(folder, 'cases', 'more'), { recursive: true });
  writeFileSync(join(folder, 'cases', 'more', 'greetings.yml'), CASES);
});

const run = (args: string[], env: Record<string, string> = {}) =>
  command(args, { cwd: folder, env: { ...SHOP_ENV, ...env } });

describe('agentd eval', () => {
  it('prints a table with the failures, and ends with 0 if all cases passed, 1 if one failed', async () => {
    const { code, stdout } = await run(['eval', 'cases']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^greets & <welcomes> +1\/1 +0 +0 +\d+\.\d s$/m);
    expect(stdout).toMatch(/^says goodbye +0\/1 /m);
    expect(stdout).toContain(
      'says goodbye (cases/more/greetings.yml, line 4)\n  turn 1, reply: does not match /goodbye/',
    );
    expect(stdout).toContain('1 passed, 1 failed');
    expect(stdout).not.toContain('\n\n\n');
    expect((await run(['eval', 'cases.yaml', '--only', 'GREETS'])).code).toBe(0);
  });

  it('compares with an earlier output, and writes JUnit XML', async () => {
    const base = await run(['eval', 'cases.yaml', '--json']);
    const { cases } = JSON.parse(base.stdout);
    expect(cases).toMatchObject([
      { name: 'greets & <welcomes>', passed: true, before: null },
      { name: 'says goodbye', passed: false, failures: [{ run: 1, turn: 1, what: 'reply' }] },
    ]);
    cases[0].passed = false;
    writeFileSync(join(folder, 'base.json'), JSON.stringify({ cases }));
    const { stdout } = await run(['eval', 'cases.yaml', '--compare', 'base.json', '--junit', 'junit.xml']);
    expect(stdout).toMatch(/^greets & <welcomes> .* failed before$/m);
    expect(stdout).toMatch(/^says goodbye .* same$/m);
    expect(stdout).toContain('1 passed, 1 failed; 0 passed before, 1 failed before');
    const junit = readFileSync(join(folder, 'junit.xml'), 'utf8');
    expect(junit).toContain('<testsuites name="agentd eval" tests="2" failures="1" errors="0"');
    expect(junit).toContain('<testcase name="greets &amp; &lt;welcomes&gt;" classname="cases.yaml"');
    expect(junit).toMatch(/<failure message="0 of 1 runs passed">run 1, turn 1, reply: /);
  });

  it.each<[string, string[], number, string]>([
    ['a path that does not exist', ['none.yaml'], 2, 'there is no file or directory none.yaml'],
    ['no such case', ['cases.yaml', '--only', 'nothing'], 2, "no case has 'nothing' in its name"],
    ['a wrong file', ['wrong.yaml'], 2, 'wrong.yaml, line 1: '],
    ['two cases of one name', ['cases.yaml', 'twice.yaml'], 2, 'has the name of another case'],
    ['a base that is none', ['cases.yaml', '--compare', 'cases.yaml'], 2, 'is not an output of'],
    ['a rubric without a judge', ['rubric.yaml'], 78, 'AGENT_EVAL_MODEL is not set'],
  ])('refuses %s', async (_, args, code, message) => {
    writeFileSync(join(folder, 'wrong.yaml'), '- { name: it }');
    writeFileSync(join(folder, 'twice.yaml'), CASES);
    writeFileSync(join(folder, 'rubric.yaml'), '- { name: it, rubric: [polite], turns: [{ say: Hello }] }');
    const ended = await run(['eval', ...args]);
    expect(ended).toMatchObject({ code, stderr: expect.stringContaining(message) });
  });

  it('asks before a judge of another provider gets conversations', async () => {
    writeFileSync(join(folder, 'rubric.yaml'), '- { name: it, rubric: [polite], turns: [{ say: Hello }] }');
    const env = { AGENT_EVAL_MODEL: 'anthropic:claude' };
    expect(await run(['eval', 'rubric.yaml'], env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('would be sent to anthropic'),
    });
  });
});

it('agentd config schema eval prints the JSON Schema of the files', async () => {
  const { code, stdout } = await run(['config', 'schema', 'eval']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ type: 'array', items: { required: ['name', 'turns'] } });
  expect((await run(['config', 'schema', 'nothing'])).code).toBe(2);
});
