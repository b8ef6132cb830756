import { describe, expect, it } from 'vitest';
import { pageName, pages } from '../../man/build/generate.ts';
import { COMMANDS, GROUPS } from '../../src/cli/command.ts';
import { runProgram } from '../../src/cli/program.ts';
import { capture } from '../unit/cli/captured-output.ts';
import { read, sourcesBelow } from './source-files.ts';

const generated = await pages();

describe.each(COMMANDS)('agentd $name', ({ name, summary, load }) => {
  it('can be loaded, and has the same name and summary as in the index', async () => {
    const command = await load();
    expect([command.name, command.summary]).toEqual([name, summary]);
  });

  it('has a summary of one sentence', () => {
    expect(summary).toMatch(/^[A-Z][^.]*\.$/);
  });

  it('has examples of its own use', async () => {
    const { examples } = await load();
    expect(Object.keys(examples).length).toBeGreaterThan(0);
    for (const [line, does] of Object.entries(examples)) {
      // `telex` is the example channel of agentd-channel(7). It is not installed.
      expect(line).not.toContain('telex');
      expect(line).toMatch(new RegExp(`^agentd ${name}( |$)`));
      expect(does).toMatch(/^[A-Z].*\.$/);
    }
  });

  it('shows its description, arguments, options and examples in its help', async () => {
    const { args, options, examples, json } = await load();
    const stdout = capture();
    expect(await runProgram([...name.split(' '), '--help'], { stdout, stderr: capture() })).toBe(0);
    const help = stdout.text.replace(/\s+/g, ' ');
    expect(help).toContain(summary);
    for (const option of options) expect(help).toContain(option.flags);
    for (const argument of args) expect(help).toContain(`${argument.name} ${argument.sentence}`);
    for (const line of Object.keys(examples)) expect(help).toContain(line);
    expect(help.includes(' --json print')).toBe(json === true);
  });

  it('has a synopsis in a manual page', () => {
    expect(generated.get(pageName(name))).toMatch(new RegExp(`^\`agentd ${name}\``, 'm'));
  });
});

describe.each(Object.entries(GROUPS))('the group %s', (name, { summary, example }) => {
  it('shows an example of one of its commands in its help', async () => {
    const commands = await Promise.all(
      COMMANDS.filter((entry) => entry.name.startsWith(`${name} `)).map(({ load }) => load()),
    );
    const [[line, does] = []] = Object.entries(example);
    expect(commands.flatMap(({ examples }) => Object.entries(examples))).toContainEqual([line, does]);
    const stdout = capture();
    expect(await runProgram([name, '--help'], { stdout, stderr: capture() })).toBe(0);
    const help = stdout.text.replace(/\s+/g, ' ');
    const isCommand = COMMANDS.some((entry) => entry.name === name);
    if (!isCommand) expect(help).toContain(summary);
    expect(help).toMatch(/ Examples: \$ agentd /);
    if (!isCommand) expect(help).toContain(`$ ${line} ${does}`);
  });
});

describe('the index of commands', () => {
  it('is covered by the README, which names each command or its group', () => {
    const [, table = ''] = /^## Commands\n(.*?)^## /ms.exec(read('README.md')) ?? [];
    const words = new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''));
    expect([...words].filter((word) => !new RegExp(`\`(?:agentd )?${word}\\b`).test(table))).toEqual([]);
  });

  it('has an entry for every command file, and a file for every entry', () => {
    const files = COMMANDS.map(({ name }) => `src/cli/commands/${name.replaceAll(' ', '-')}.ts`);
    expect(files.sort()).toEqual(sourcesBelow('src/cli/commands'));
  });

  it('contains every group', () => {
    const groups = COMMANDS.map(({ name }) => name.split(' ')).flatMap(([first = '', second]) =>
      second ? [first] : [],
    );
    expect([...new Set(groups)].sort()).toEqual(Object.keys(GROUPS).sort());
  });
});
