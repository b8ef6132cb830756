import { setImmediate as turn } from 'node:timers/promises';
import type { AgentRuntime, AgentTurn } from 'agentd/agent';

/** Number of runs of `all` that have started and not ended. The runs begin to speak when all of them have started. */
let waiting = 0;
let begin = Promise.withResolvers<void>();

// Collects garbage on this signal, so that it is not counted as used memory.
process.on('SIGUSR2', () => globalThis.gc?.());

/**
 * `hold`: sends one word and then nothing. `all <n> <ms>`: n runs wait for each other, and then each sends a word in
 * every tick of the event loop for that time. Anything else is answered at once.
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
