import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { drive } from '../bench/load.ts';
import { median, percentile } from '../bench/rounds.ts';
import { isThorough } from '../support/effort.ts';
import { hasRedis } from '../support/redis-server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

function bench(...args: string[]) {
  return spawnSync(process.execPath, ['test/bench/run.ts', ...args], { cwd: ROOT, encoding: 'utf8' });
}

interface Row {
  benchmark: string;
  target: object | null;
  ours: { name: string; counts: Record<string, number> };
}

it.runIf(isThorough)(
  'the benchmarks compare agentd with a baseline, and everything that agentd acknowledged is stored',
  () => {
    const { status, stdout, stderr } = bench('--quick', '--json');
    expect(stderr).toMatch(/^chat: round 1\/1: bare$/m);
    const report = JSON.parse(stdout) as { machine: object; effort: object; rows: Row[] };
    expect(report).toMatchObject({
      machine: { versions: { node: process.versions.node } },
      effort: { rounds: 1 },
    });
    expect(report.rows.map(({ benchmark, ours }) => [benchmark, ours.name])).toEqual([
      ['chat', '64 connections'],
      ['chat', 'sessions of 30 turns'],
      ['chat', 'one connection, p50'],
      ['chat', '500 requests/s, p50'],
      ['webhook', 'durable bare'],
      ['webhook', 'Bolt'],
      ['webhook', 'agentd'],
      ['webhook', 'Bolt'],
      ['webhook', 'until done'],
      ['guard', 'agentd'],
      ['token', 'agentd'],
      ['tools', 'read'],
      ['tools', 'journaled write'],
      ['markdown', 'ordinary text'],
      ['markdown', 'lists'],
      ['markdown', 'bad cases'],
      ['sse', 'open stream'],
      ['sse', 'with a run each'],
      ['sse', 'fan-out'],
      ['sse', 'first event'],
      ['model', 'first token'],
      ['metrics', 'chat'],
      ['metrics', 'webhook'],
      ...(hasRedis
        ? [
            ['redis', 'a chat turn'],
            ['redis', 'a webhook until done'],
          ]
        : []),
      ['cli', 'agentd --version'],
      ['cli', 'agentd --help'],
      ['start', 'agentd serve'],
    ]);
    const rowOf = (name: string) => report.rows.find(({ benchmark, target }) => benchmark === name && target);
    const chat = rowOf('chat')?.ours.counts ?? {};
    expect(chat.acknowledged).toBeGreaterThan(0);
    expect(chat).toEqual({
      acknowledged: chat.acknowledged,
      refused: 0,
      turns: chat.acknowledged,
      traces: chat.acknowledged,
      'log lines': chat.acknowledged,
    });
    const { acknowledged, refused, kept } = rowOf('webhook')?.ours.counts ?? {};
    expect(acknowledged).toBeGreaterThan(0);
    expect({ refused, kept }).toEqual({ refused: 0, kept: acknowledged });
    const guard = rowOf('guard')?.ours.counts;
    expect(guard?.passed).toBeGreaterThan(0);
    expect(guard?.kept).toBe(guard?.passed);
    expect(status).toBe(0);
  },
);

it('the report is printed as a table', () => {
  const { status, stdout } = bench('cli', '--quick');
  const rows = stdout.split('\n').filter((line) => /^cli .* %/.test(line));
  expect(rows).toHaveLength(2);
  for (const row of rows) expect(row).toMatch(/ \d+ % +[≤≥] \d+ % +(missed|met|ambition)$/);
  expect(status).toBe(0);
});

it('`npm run bench` prints its usage if the benchmark does not exist', () => {
  const { status, stderr } = bench('speed');
  expect(stderr).toContain(
    `usage: npm run bench [chat|webhook|guard|token|tools|markdown|sse|model|metrics|${hasRedis ? 'redis|' : ''}cli|start]`,
  );
  expect(status).toBe(2);
});

it('medians and percentiles are interpolated', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(percentile([1, 2, 3, 4, 5], 0.99)).toBe(4.5);
  expect(percentile([], 0.5)).toBe(0);
});

it('the time of a request that finds all connections busy counts from its arrival', async () => {
  const answer_ms = 20;
  const server = createServer((_, response) => {
    setTimeout(() => response.writeHead(200, { 'Content-Length': 0 }).end(), answer_ms);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { acknowledged, p50_ms } = await drive(
    {
      ...{ port, pid: process.pid, connections: 1, arrivals: { per_second: 250 } },
      ...{ warm_up_ms: 0, steady_within_ms: 0, measure_ms: 200 },
    },
    () => 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  );
  // About 50 requests have arrived, and only the first of them found the connection idle.
  expect(acknowledged).toBeGreaterThan(10);
  expect(p50_ms).toBeGreaterThan(3 * answer_ms);
  server.close();
});
