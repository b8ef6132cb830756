import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { confirm } from '../../../src/cli/terminal.ts';

function terminal() {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  return { stdin, stderr };
}

it.each([
  ['y', true],
  [' YES ', true],
  ['n', false],
  ['', false],
  ['yesterday', false],
])('confirm reads %j as %s', async (typed, agreed) => {
  const { stdin, stderr } = terminal();
  const answer = confirm('Really?', { stdin, stderr });
  stdin.write(`${typed}\n`);
  expect(await answer).toBe(agreed);
  expect(String(stderr.read())).toContain('Really? [y/N] ');
});

it('confirm replaces control and direction characters of the question', async () => {
  const { stdin, stderr } = terminal();
  const answer = confirm('Replace \u202egro\u{1b}[2J?', { stdin, stderr });
  stdin.write('y\n');
  await answer;
  expect(String(stderr.read())).toContain('Replace \ufffdgro\ufffd[2J? [y/N] ');
});

it('confirm reads the end of the input as no', async () => {
  const { stdin, stderr } = terminal();
  const answer = confirm('Really?', { stdin, stderr });
  stdin.end();
  expect(await answer).toBe(false);
});

it.each(['stdin', 'stderr'] as const)('confirm does not ask if %s is not a terminal', async (which) => {
  const streams = terminal();
  streams[which].isTTY = false;
  expect(await confirm('Really?', streams)).toBeNull();
  expect(streams.stderr.read()).toBeNull();
});
