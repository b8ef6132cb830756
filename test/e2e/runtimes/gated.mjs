/**
 * A runtime for load tests. Its answer says how many runs were in progress when it began. A message that contains the
 * word `hold` waits for the gate of the test: GATE_URL answers when the test releases it.
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
