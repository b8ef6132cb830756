import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { median, percentile } from '../../bench/rounds.ts';

/** Every process of a round is waited for, on a machine that may be busy with other tests. */
vi.setConfig({ testTimeout: 120_000 });

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

function bench(...args: string[]) {
  return spawnSync(process.execPath, ['test/bench/run.ts', ...args], { cwd: ROOT, encoding: 'utf8' });
}

it('measures everything against its bare limit, and prints a table', () => {
  const { status, stdout, stderr } = bench('--quick');
  expect(stderr).toMatch(/^chat: round 1\/1: bare$/m);
  const rows = stdout
    .split('\n')
    .filter((line) => /^(chat|webhook|guard|token|sse|cli|start) .* %/.test(line));
  expect(rows.map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
    ['chat', 'agentd'],
    ['webhook', 'Bolt'],
    ['webhook', 'agentd'],
    ['guard', 'agentd'],
    ['token', 'agentd'],
    ['sse', 'open stream'],
    ['sse', 'with a run each'],
    ['sse', 'fan-out'],
    ['sse', 'first event'],
    ['cli', 'agentd --version'],
    ['cli', 'agentd --help'],
    ['start', 'agentd serve'],
  ]);
  for (const row of rows) expect(row).toMatch(/ \d+ % +([≤≥] \d+ (%|ms) +(missed|met|ambition)|– +peer)$/);
  expect(status).toBe(0);
});

it('tells machine, versions, effort and rows as JSON, and stores what it acknowledged', () => {
  const { status, stdout } = bench('chat', '--quick', '--json');
  const report = JSON.parse(stdout) as {
    machine: object;
    rows: { ratio: number; target_met: boolean; ours: { median: number; counts: Record<string, number> } }[];
  };
  expect(report).toMatchObject({
    machine: { versions: { node: process.versions.node } },
    effort: { rounds: 1 },
    rows: [{ benchmark: 'chat', unit: 'requests/s', target: { ratio: 0.65 } }],
  });
  const counts = report.rows[0]?.ours.counts ?? {};
  expect(counts.acknowledged).toBeGreaterThan(0);
  expect(counts).toEqual({
    acknowledged: counts.acknowledged,
    refused: 0,
    turns: counts.acknowledged,
    traces: counts.acknowledged,
    'log lines': counts.acknowledged,
  });
  expect(status).toBe(0);
});

it('keeps every message of a webhook that it acknowledges, and every verdict of the guard', () => {
  const { status, stdout } = bench('webhook', 'guard', '--quick', '--json');
  const report = JSON.parse(stdout) as {
    rows: { benchmark: string; target: object | null; ours: { counts: Record<string, number> } }[];
  };
  const [bolt, webhook, guard] = report.rows;
  expect(bolt).toMatchObject({ benchmark: 'webhook', target: null, ours: { name: 'Bolt' } });
  const { acknowledged, refused, kept } = webhook?.ours.counts ?? {};
  expect(acknowledged).toBeGreaterThan(0);
  expect({ refused, kept }).toEqual({ refused: 0, kept: acknowledged });
  expect(guard?.ours.counts.passed).toBeGreaterThan(0);
  expect(guard?.ours.counts.kept).toBe(guard?.ours.counts.passed);
  expect(status).toBe(0);
});

it('says how it is used where there is no such benchmark', () => {
  const { status, stderr } = bench('speed');
  expect(stderr).toContain('usage: npm run bench [chat|webhook|guard|token|sse|cli|start]');
  expect(status).toBe(2);
});

it('takes medians and percentiles between neighbours', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(percentile([1, 2, 3, 4, 5], 0.99)).toBe(4.5);
  expect(percentile([], 0.5)).toBe(0);
});
