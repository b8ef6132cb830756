import { setImmediate as turn } from 'node:timers/promises';
import type { AgentRuntime, AgentTurn } from '../../src/daemon/agent/agent.ts';

/**
 * An agent for tests. `count <n>` says n words, each in a turn of the event loop of its own; `me` says whom it
 * answers; for anything else it says, piece by piece, what the test dictates (test/harness/dictation.ts).
 */
export default {
  apiVersion: 1,
  async *run({ text, person, signal, history }: AgentTurn) {
    const [, words] = /^count (\d+)$/.exec(text) ?? [];
    if (words !== undefined) {
      for (let word = 1; word <= Number(words); word++) {
        yield `word${word} `;
        await turn();
      }
    } else if (text === 'me') yield person?.email ?? 'nobody';
    else if (text === 'history') {
      const told = history.map(({ user, reply, before_sign_in }) =>
        before_sign_in ? [user, reply, 'before sign-in'] : [user, reply],
      );
      yield JSON.stringify(told);
    } else yield* dictated(text, signal);
  },
} satisfies AgentRuntime;

async function* dictated(text: string, signal: AbortSignal): AsyncGenerator<string> {
  const url = `${process.env.DICTATION_URL}/?text=${encodeURIComponent(text)}`;
  for (let first = true; ; first = false) {
    const response = await fetch(url, { method: first ? 'POST' : 'GET', signal });
    if (response.status === 204) return;
    const piece = await response.text();
    if (response.status !== 200) throw new Error(piece);
    yield piece;
  }
}
