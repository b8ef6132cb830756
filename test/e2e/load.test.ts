import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const load = (...args: string[]) =>
  spawnSync(process.execPath, ['test/load/run.ts', ...args], { cwd: ROOT, encoding: 'utf8' });

it('the load test prints rate, latency and errors of a daemon with the sample company', () => {
  const { status, stdout, stderr } = load('--seconds', '1', '--connections', '4', '--json');
  expect([status, stderr]).toEqual([0, expect.not.stringContaining('Error')]);
  const result = JSON.parse(stdout) as Record<string, number>;
  expect(result).toMatchObject({ refused: 0 });
  for (const name of ['rate', 'p50_ms', 'p99_ms', 'acknowledged'])
    expect(result[name], name).toBeGreaterThan(0);
});

it('the load test is bounded', () => {
  expect(load('--seconds', '601')).toMatchObject({ status: 2, stderr: expect.stringContaining('usage: ') });
});
