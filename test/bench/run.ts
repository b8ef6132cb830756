/**
 * `npm run bench [name …] [-- --json --quick --rounds N]`: measures how fast agentd is, compared with the least code
 * that could do the same work. It only prints figures: a slow result is not a failure.
 */
import { parseArgs } from 'node:util';
import { type Benchmark, FULL, QUICK } from './benchmark.ts';
import { calmChats, chat, longChat } from './chat/chat.ts';
import { cli } from './cli/cli.ts';
import { guard } from './guard/guard.ts';
import { describeMachine } from './machine.ts';
import { markdown } from './markdown/markdown.ts';
import { metricsOfChat, metricsOfWebhook } from './metrics/metrics.ts';
import { firstToken } from './model/model.ts';
import { redisBenchmarks } from './redis/redis.ts';
import { type Report, type Row, rowsOf, table } from './report.ts';
import { runRounds } from './rounds.ts';
import { fanOut, firstEvent, streamMemory } from './sse/sse.ts';
import { start } from './start/start.ts';
import { token } from './token/token.ts';
import { readCall, writeCall } from './tools/tools.ts';
import { webhook, webhookDone } from './webhook/webhook.ts';

const BENCHMARKS: readonly Benchmark[] = [
  chat,
  longChat,
  ...calmChats,
  webhook,
  webhookDone,
  guard,
  token,
  readCall,
  writeCall,
  markdown,
  streamMemory,
  fanOut,
  firstEvent,
  firstToken,
  metricsOfChat,
  metricsOfWebhook,
  ...redisBenchmarks,
  cli,
  start,
];

const { values: options, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
  },
});
const effort = { ...(options.quick ? QUICK : FULL) };
if (options.rounds !== undefined) effort.rounds = Number(options.rounds);
const unknown = names.find((name) => BENCHMARKS.every((benchmark) => benchmark.name !== name));

if (unknown !== undefined || !(effort.rounds >= 1)) {
  console.error(
    `usage: npm run bench [${[...new Set(BENCHMARKS.map(({ name }) => name))].join('|')}] [-- --json --quick --rounds N]`,
  );
  process.exitCode = 2;
} else {
  const machine = describeMachine();
  const rows: Row[] = [];
  for (const benchmark of BENCHMARKS) {
    if (names.length === 0 || names.includes(benchmark.name)) rows.push(...(await measure(benchmark)));
  }
  const report: Report = { machine, effort, rows };
  process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : table(report));
}

async function measure(benchmark: Benchmark): Promise<Row[]> {
  const cleanUp = await benchmark.prepare?.(effort);
  try {
    const series = await runRounds(benchmark, effort, (progress) =>
      process.stderr.write(`${benchmark.name}: ${progress}\n`),
    );
    return rowsOf(benchmark, series);
  } finally {
    await cleanUp?.();
  }
}
