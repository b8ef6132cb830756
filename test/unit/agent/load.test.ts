import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadAgent as loadWithInstructions } from '../../../src/daemon/agent/load.ts';
import { agentTurn, replyOf } from '../../support/agent-turn.ts';
import { llmSettings } from '../../support/llm-settings.ts';
import { collectLog } from '../../support/log-lines.ts';

const { log } = collectLog();
const unset = { ...llmSettings({}), AGENT_RUNTIME: undefined };
const RIGHT = '`builtin`, `llm`, or the path of a module whose default export is { apiVersion: 1, run }';
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'agentd-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function moduleWith(name: string, source: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, source);
  return path;
}

const loadAgent = async (...of: Parameters<typeof loadWithInstructions>) =>
  (await loadWithInstructions(...of)).runtime;
const load = (AGENT_RUNTIME: string) => loadAgent({ ...unset, AGENT_RUNTIME }, log);

test('the builtin runtime is the default', async () => {
  expect(await replyOf((await loadAgent(unset, log)).run(agentTurn()))).toContain(
    'I follow a few simple rules',
  );
});

test('the model runtime is the default if AGENT_MODEL is set', async () => {
  const error = await loadAgent({ ...unset, AGENT_MODEL: 'nameless' }, log).catch(
    (caught: unknown) => caught,
  );
  expect(error).toMatchObject({
    name: 'ConfigurationError',
    problems: [expect.objectContaining({ setting: 'AGENT_MODEL' })],
  });
});

test('`llm` without a model is a configuration error', async () => {
  await expect(load('llm')).rejects.toMatchObject({
    name: 'ConfigurationError',
    problems: [
      expect.objectContaining({
        setting: 'AGENT_MODEL',
        problem: 'is not set',
        right: 'the name of a model, or provider:model',
      }),
    ],
  });
});

test('a path loads a custom runtime, which may be in TypeScript', async () => {
  const path = await moduleWith(
    'echo.ts',
    'export default { apiVersion: 1 as const, async *run(turn: { text: string }) { yield turn.text; } };',
  );
  expect(await replyOf((await load(path)).run(agentTurn({ text: 'hi' })))).toBe('hi');
});

test.each([
  ['export default 7;', 'has no default export that is an object'],
  ['export const run = 1;', 'has no default export that is an object'],
  ['export default { run() {} };', 'has apiVersion none, expected 1'],
  ['export default { apiVersion: 2, run() {} };', 'has apiVersion 2, expected 1'],
  ['export default { apiVersion: 1 };', 'has no function `run`'],
])('an invalid module (%s) is refused, and the error gives the reason', async (source, why) => {
  const path = await moduleWith(`bad-${why.length}-${source.length}.mjs`, source);
  await expect(load(path)).rejects.toMatchObject({
    name: 'ConfigurationError',
    problems: [
      expect.objectContaining({
        setting: 'AGENT_RUNTIME',
        problem: `names ${path}, which ${why}`,
        right: RIGHT,
      }),
    ],
  });
});

test('the error for a missing module names its path', async () => {
  const path = join(directory, 'nothing.mjs');
  await expect(load(path)).rejects.toMatchObject({
    name: 'ConfigurationError',
    problems: [
      expect.objectContaining({
        setting: 'AGENT_RUNTIME',
        problem: expect.stringMatching(/^names \/.*nothing\.mjs, which cannot be loaded: /),
      }),
    ],
  });
});
