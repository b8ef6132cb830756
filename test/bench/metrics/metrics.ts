import type { Benchmark, Contender, Effort, Sample } from '../benchmark.ts';
import { chat, chatRound } from '../chat/chat.ts';
import { webhookRound } from '../webhook/webhook.ts';

/**
 * The settings that turn on the metrics of agentd-metrics(7). Without a shutdown delay, a stop takes as long as without
 * metrics.
 */
const ON = { ADMIN_LISTEN: '127.0.0.1:0', SHUTDOWN_DELAY_SECONDS: '0' };

type Round = (effort: Effort, env?: Readonly<Record<string, string>>) => Promise<Sample>;

/**
 * Shortens both benchmarks, so that together they take two minutes. This is enough, because a program is compared with
 * itself.
 */
const shortly = (effort: Effort): Effort => ({
  ...effort,
  warm_up_ms: Math.min(effort.warm_up_ms, 1500),
  steady_within_ms: Math.min(effort.steady_within_ms, 10_000),
  measure_ms: Math.min(effort.measure_ms, 3000),
  people: Math.min(effort.people, 2000),
});

function withMetrics(name: string, round: Round): Benchmark {
  const contender = (label: string, env: Readonly<Record<string, string>>): Contender => ({
    name: label,
    round: (effort) => round(shortly(effort), env),
  });
  return {
    name: 'metrics',
    work: `${name} with ADMIN_LISTEN set, so that everything is counted`,
    limit: `${name} without it`,
    unit: 'requests/s',
    bare: contender('off', {}),
    ours: [{ ...contender(name, ON), target: { ratio: 0.97, ambition: 0.99 } }],
  };
}

export const metricsOfChat: Benchmark = {
  ...withMetrics('chat', chatRound),
  prepare: async (effort) => (await chat.prepare?.(shortly(effort))) ?? (async () => {}),
};

export const metricsOfWebhook = withMetrics('webhook', webhookRound);
