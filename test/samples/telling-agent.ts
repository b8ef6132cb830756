import { setTimeout as delay } from 'node:timers/promises';
import type { AgentRuntime, AgentTurn } from '../../src/daemon/agent/agent.ts';

/** Runs so far of each text that is to fail a number of times. */
const failures = new Map<string, number>();

/**
 * An agent for tests: tells the exchange of each run, then answers `re: <text>`. `wait <ms> …` takes its
 * time, `fail <n> …` fails so often first, `die` ends the process.
 */
export default {
  apiVersion: 1,
  async *run(turn: AgentTurn) {
    await fetch(`${process.env.RUNS_URL}/run`, {
      method: 'POST',
      body: JSON.stringify({ text: turn.text, sign_in_expired: turn.sign_in_expired, person: turn.person }),
      headers: { 'Content-Type': 'application/json' },
    });
    if (turn.text === 'die') process.kill(process.pid, 'SIGKILL');
    const [, word, number = '0'] = /^(wait|fail) ?(\d*)/.exec(turn.text) ?? [];
    if (word === 'wait') await delay(Number(number), undefined, { signal: turn.signal });
    if (word === 'fail') {
      const before = failures.get(turn.text) ?? 0;
      failures.set(turn.text, before + 1);
      if (before < Number(number)) throw new Error('the agent was told to fail');
    }
    yield `re: ${turn.text}`;
  },
} satisfies AgentRuntime;
