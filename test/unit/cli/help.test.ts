import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { readPage } from '../../../man/build/page.ts';
import { COMMANDS } from '../../../src/cli/command.ts';
import { HELP_TOPICS, INTENTS } from '../../../src/cli/help.ts';
import { runProgram } from '../../../src/cli/program.ts';
import { filesBelow, read } from '../../rules/source-files.ts';
import { agentd, capture } from './captured-output.ts';

const pages = filesBelow('man')
  .filter((file) => file.endsWith('.md'))
  .map((file) => readPage(read(file)))
  .map(({ name, section }) => `${name}(${section})`);

describe('agentd help', () => {
  it('shows the help of the program, with the topics, if no topic is given', async () => {
    const { code, stdout, stderr } = await agentd('help');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toBe((await agentd('--help')).stdout);
    for (const { name, summary } of HELP_TOPICS)
      expect(stdout.replace(/ +/g, ' ')).toContain(`\n ${name} ${summary}\n`);
  });

  it('lists each command or group under one intent, each on one line of at most 80 columns', async () => {
    const { stdout } = await agentd('help');
    const words = new Set([...COMMANDS.map(({ name }) => name.split(' ')[0]), 'help']);
    const listed = Object.values(INTENTS).flat();
    expect(new Set(listed).size).toBe(listed.length);
    expect([...words].filter((word) => !listed.includes(word as string))).toEqual([]);
    const lines = stdout.split('\n');
    for (const word of words)
      expect(lines.filter((line) => new RegExp(`^  ${word} +[A-Z].*\\.$`).test(line))).not.toEqual([]);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.length).toBeLessThanOrEqual(72);
  });

  it('shows the usage and the summary of each command, within 80 columns but for the commands to type', async () => {
    for (const { name, summary } of COMMANDS) {
      const { code, stdout, stderr } = await agentd(...name.split(' '), '--help');
      expect([code, stderr], name).toEqual([0, '']);
      expect(stdout, name).toContain(`Usage: agentd ${name}`);
      expect(stdout, name).toContain(summary);
      const long = stdout.split('\n').filter((line) => line.length > 80 && !line.startsWith('  $ '));
      expect(long, name).toEqual([]);
    }
  });

  it.each(['operate', 'channels', 'identity', 'support'])('shows the topic %s', async (name) => {
    expect(await agentd('help', name)).toMatchObject({ code: 0, stderr: '' });
  });

  it.each(HELP_TOPICS)(
    'shows only existing commands and pages under the topic $name',
    async ({ name, summary, commands, pages: named }) => {
      const { code, stdout } = await agentd('help', name);
      expect(code).toBe(0);
      expect(stdout).toContain(summary);
      expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
      for (const wanted of commands) {
        const found = COMMANDS.filter(
          (entry) => entry.name === wanted || entry.name.startsWith(`${wanted} `),
        );
        expect(found.length, wanted).toBeGreaterThan(0);
        for (const command of found) expect(stdout).toContain(`  ${command.name} `);
      }
      expect(named.filter((page) => !pages.includes(page))).toEqual([]);
      for (const page of named) expect(stdout).toContain(`man ${page.slice(0, -3)}`);
    },
  );

  it('names only existing commands and options for each complaint', async () => {
    const lines = HELP_TOPICS.flatMap(({ complaints = [] }) =>
      complaints.flatMap(({ commands }) => commands),
    );
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) {
      const words = line.split(' ').slice(1);
      const name = [2, 1].map((count) => words.slice(0, count).join(' '));
      const entry = name.map((one) => COMMANDS.find((command) => command.name === one)).find(Boolean);
      expect(entry, line).toBeDefined();
      const options = (await entry?.load())?.options ?? [];
      for (const flag of line.match(/--[a-z]+/g) ?? [])
        expect(
          options.some(({ flags }) => flags.includes(flag)),
          line,
        ).toBe(true);
    }
  });

  it('has a topic for each command except completion', () => {
    const led = HELP_TOPICS.flatMap(({ commands }) => commands);
    const without = COMMANDS.map(({ name }) => name).filter(
      (name) => !led.some((wanted) => name === wanted || name.startsWith(`${wanted} `)),
    );
    expect(without).toEqual(['completion']);
  });

  it('also shows the help of commands and groups', async () => {
    expect((await agentd('help', 'token', 'verify')).stdout).toBe(
      (await agentd('token', 'verify', '--help')).stdout,
    );
    expect((await agentd('help', 'channels', 'list')).stdout).toContain('Usage: agentd channels list');
    expect((await agentd('channels', '--help')).stdout).toContain('Usage: agentd channels');
    expect((await agentd('help', 'serve')).stdout).toContain('Usage: agentd serve');
  });

  it.each([['help'], ['help', 'operate'], ['serve', '--help']])(
    'has bold headings on a terminal with colors, and is otherwise the same: %s %s',
    async (...argv) => {
      vi.stubEnv('NO_COLOR', undefined);
      const stdout = capture({ columns: 80 });
      await runProgram(argv, { stdout, stderr: capture() });
      vi.unstubAllEnvs();
      const plain = (await agentd(...argv)).stdout;
      expect(stripVTControlCharacters(stdout.text)).toBe(plain);
      const bold = stdout.text.split('\n').filter((line) => line.startsWith('\u001b[1m'));
      expect(bold.map(stripVTControlCharacters)).toEqual(
        plain.split('\n').filter((line) => /^[A-Z].*:$/.test(line)),
      );
    },
  );

  it('refuses an unknown word, and suggests a similar word', async () => {
    expect(await agentd('help', 'operat')).toEqual({
      code: 2,
      stdout: '',
      stderr: "agentd: there is no topic or command 'operat'\nDid you mean `agentd help operate`?\n",
    });
    expect((await agentd('help', 'gardening')).stderr).toContain('`agentd help` lists them.');
  });
});
