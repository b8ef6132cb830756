import { setImmediate as turn } from 'node:timers/promises';
import type { AgentRuntime, AgentTurn } from 'agentd/agent';

/** Runs that were asked to speak together wait for this many. */
let waiting = 0;
let begin = Promise.withResolvers<void>();

// What is only garbage must not be counted as memory.
process.on('SIGUSR2', () => globalThis.gc?.());

/**
 * `hold`: says a word and no more. `all <n> <ms>`: n runs that wait for each other, and then speak for so long,
 * a word in each turn of the event loop. Anything else is answered at once.
 */
const agent: AgentRuntime = {
  apiVersion: 1,
  async *run({ text, signal }: AgentTurn) {
    yield 'Hello. ';
    if (text === 'hold') await aborted(signal);
    const [, count, ms] = /^all (\d+) (\d+)$/.exec(text) ?? [];
    if (count === undefined) return;
    if (++waiting === Number(count)) begin.resolve();
    await begin.promise;
    const end = performance.now() + Number(ms);
    while (performance.now() < end) {
      yield 'word ';
      await turn();
    }
    if (--waiting === 0) begin = Promise.withResolvers();
  },
};

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

export default agent;
