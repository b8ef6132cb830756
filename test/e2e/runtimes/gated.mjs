/**
 * A runtime for tests of load: says how many runs there were at once when it began. A message that holds the
 * word `hold` waits for the test's gate (GATE_URL answers when the test says so).
 */
let running = 0;

export default {
  apiVersion: 1,
  async *run(turn) {
    running++;
    try {
      const at_once = running;
      if (/\bhold\b/.test(turn.text)) await fetch(process.env.GATE_URL, { signal: turn.signal });
      else await new Promise((resolve) => setTimeout(resolve, 5));
      yield `running ${at_once}: ${turn.text}`;
    } finally {
      running--;
    }
  },
};
