import type { AgentRuntime, AgentTurn } from '../../src/daemon/agent/agent.ts';

/**
 * An agent for tests: looks up the e-mail address that a message holds, as whom the message acts for, tells the
 * exchange what it was handed, and answers with all that it found.
 */
export default {
  apiVersion: 1,
  async *run({ text, speaker, person, history, tools }: AgentTurn) {
    const email = /\S+@\S+/.exec(text)?.[0];
    const tool = tools.find(({ name }) => name === 'get_user');
    const found = await tool?.call({ email });
    await fetch(`${process.env.TELEX_API_URL}/run`, {
      method: 'POST',
      body: JSON.stringify({ text, speaker, person, history }),
      headers: { 'Content-Type': 'application/json' },
    });
    yield `${text}: ${JSON.stringify(found)}`;
  },
} satisfies AgentRuntime;
