import type { AgentRuntime } from 'agentd/agent';
import { REPLY } from './deliveries.ts';

/** Answers at once. */
const agent: AgentRuntime = {
  apiVersion: 1,
  async *run() {
    yield REPLY;
  },
};

export default agent;
