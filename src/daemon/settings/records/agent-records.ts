import { decimal, flag, integer, text, url } from './record.ts';

/** The agent and its model. */
export const AGENT_RECORDS = {
  AGENT_RUNTIME: text(
    '`builtin`, `llm`, or the path of a module. If unset: `llm` if AGENT_MODEL is set, otherwise `builtin`.',
  ),
  AGENT_WATCH: flag(
    { reload: true, default: false },
    'Reads the configuration again when one of its files changes, as `agentd reload` does.',
  ),
  AGENT_MODEL: text({ reload: true }, 'Model on the server at AGENT_BASE_URL, or `provider:model`.'),
  AGENT_BASE_URL: url({ reload: true }, 'Address of an OpenAI-compatible server; it usually ends in /v1.'),
  AGENT_API_KEY: text({ reload: true, secret: true }, 'Key for the model server.'),
  AGENT_PROVIDER_OPTIONS: text(
    { reload: true, json: true, example: '{"baseURL":"https://models.example.com/v1"}' },
    'Options of the provider of `provider:model`, as JSON: those with which its package creates the provider, and `providerOptions` for each call. Not for secrets.',
  ),
  AGENT_PROVIDER_HEADERS: text(
    { reload: true, secret: true, json: true },
    'Headers of each request to the model, as JSON: names and values.',
  ),
  AGENT_TEMPERATURE: decimal(
    { reload: true, min: 0, max: 2, example: '0.2' },
    'Temperature of the model. If unset, the model server decides.',
  ),
  AGENT_MAX_OUTPUT_TOKENS: integer(
    { reload: true, min: 1, max: 1_000_000, unit: 'tokens', example: '1024' },
    'Maximum length of the answer of one model call. If unset, the model server decides.',
  ),
  AGENT_HISTORY_TOKENS: integer(
    { reload: true, min: 0, max: 1_000_000, default: 8000, unit: 'tokens' },
    'Maximum size of the earlier conversation that the model gets. Older parts of a conversation with one person are summarized between messages.',
  ),
  AGENT_FALLBACK_MODEL: text(
    { reload: true },
    'Answers while the model of AGENT_MODEL cannot be reached, is overloaded or fails: `builtin`, or another model, named as in AGENT_MODEL.',
  ),
  AGENT_FALLBACK_BASE_URL: url(
    { reload: true },
    'Address of the server of the fallback model. If unset, AGENT_BASE_URL.',
  ),
  AGENT_FALLBACK_API_KEY: text(
    { reload: true, secret: true },
    'Key for the server of the fallback model. If unset, AGENT_API_KEY, but not for another provider than that of AGENT_MODEL.',
  ),
  AGENT_EVAL_MODEL: text(
    'Judges the rubrics of `agentd eval`. A model of the server at AGENT_BASE_URL, or `provider:model`.',
  ),
  AGENT_DAILY_TOKENS: integer(
    { reload: true, min: 0, max: 1_000_000_000, default: 0, unit: 'tokens' },
    'Tokens of the model that one person, or one address of anonymous clients, may use within 24 hours, on all channels together; 0 means no limit.',
  ),
  AGENT_INSTRUCTIONS: text({ reload: true }, 'Instructions for the agent: text, or the path of a text file.'),
  RECEIPTS: flag(
    { reload: true, default: true },
    'Whether a reply ends with a line for each action that the message carried out, with its outcome. Without these lines, a reply only names actions whose outcome is unknown, and those that the agent could not report; web clients get all of them as data.',
  ),
  AGENT_MAX_STEPS: integer(
    { reload: true, min: 1, max: 50, default: 8 },
    'Maximum number of model calls in one run.',
  ),
  AGENT_TIMEOUT_SECONDS: integer(
    { reload: true, min: 1, max: 600, default: 60, unit: 'seconds' },
    'Time limit of one run of the agent. A request whose run takes longer is answered 504.',
  ),
  AGENT_CONCURRENCY: integer(
    { reload: true, min: 1, max: 10_000, default: 64 },
    'Maximum number of agent runs at the same time.',
  ),
  AGENT_QUEUE_MAX: integer(
    { reload: true, min: 0, max: 100_000, default: 1000 },
    'Maximum number of messages that wait for a run; further ones are answered 503.',
  ),
  AGENT_QUEUE_WAIT_SECONDS: integer(
    { reload: true, min: 1, max: 600, default: 30, unit: 'seconds' },
    'How long a message waits for a run before it is answered 503.',
  ),
};
