import type { LlmSettings } from '../../src/daemon/agent/llm/llm.ts';

/** The settings of the agent with their defaults, except for the given changes. */
export function llmSettings<Changes extends Partial<LlmSettings>>(changes: Changes): LlmSettings & Changes {
  return {
    AGENT_MODEL: undefined,
    AGENT_BASE_URL: undefined,
    AGENT_API_KEY: undefined,
    AGENT_FALLBACK_MODEL: undefined,
    AGENT_FALLBACK_BASE_URL: undefined,
    AGENT_FALLBACK_API_KEY: undefined,
    AGENT_PROVIDER_OPTIONS: undefined,
    AGENT_PROVIDER_HEADERS: undefined,
    AGENT_TEMPERATURE: undefined,
    AGENT_MAX_OUTPUT_TOKENS: undefined,
    AGENT_HISTORY_TOKENS: 8000,
    AGENT_INSTRUCTIONS: undefined,
    AGENT_MAX_STEPS: 8,
    ...changes,
  };
}
