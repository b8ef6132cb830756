import { fileURLToPath } from 'node:url';
import type { Benchmark, Contender } from '../benchmark.ts';
import { ask } from '../process.ts';
import type { MarkdownOrder, MarkdownResult } from './check.ts';

const program = fileURLToPath(new URL('check.ts', import.meta.url));

/** How long the event loop is blocked while a reply is converted to messages of a platform. */
export const markdown: Benchmark = {
  name: 'markdown',
  work: 'a reply converted for each platform: the longest time that the event loop is blocked',
  limit: 'markdown-it alone, which parses an ordinary text of 100 KB in one call',
  unit: 'ms',
  bare: { name: 'bare', round: roundOf('bare') },
  ours: [
    { name: 'ordinary text', target: { value: 50, ambition: 10 }, round: roundOf('ordinary') },
    { name: 'lists', target: { value: 50, ambition: 10 }, round: roundOf('lists') },
    { name: 'bad cases', target: { value: 50, ambition: 20 }, round: roundOf('bad') },
  ],
};

function roundOf(texts: MarkdownOrder['texts']): Contender['round'] {
  return async ({ warm_up_ms, measure_ms }) => {
    // A quick run only shows that everything works.
    const order: MarkdownOrder = { texts, warm_up_ms, size: measure_ms >= 1000 ? 100_000 : 200 };
    const results = await ask<readonly MarkdownResult[]>(program, order, { part: 'server' });
    return {
      value: Math.max(...results.map(({ hold_ms }) => hold_ms)),
      figures: Object.fromEntries(
        results.flatMap(({ title, hold_ms, ms_per_kb }) => [
          [title, hold_ms],
          [`${title}, per KB`, ms_per_kb],
        ]),
      ),
    };
  };
}
