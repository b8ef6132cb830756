import type { AgentRuntime } from 'agentd/agent';

/** Gives no answer until the daemon stops, so that the acknowledgement is measured while runs are in progress. */
const agent: AgentRuntime = {
  apiVersion: 1,
  async *run({ signal }) {
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    signal.throwIfAborted();
  },
};

export default agent;
