import type { AgentRuntime } from 'agentd/agent';
import { REPLY } from './people.ts';

/** Answers at once, so that what is measured is the way to the agent and back. */
const agent: AgentRuntime = {
  apiVersion: 1,
  async *run() {
    yield REPLY;
  },
};

export default agent;
