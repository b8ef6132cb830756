import type { SettingRecord } from '../../../channel/index.ts';

/** The agent and its model. */
export const AGENT_RECORDS = [
  {
    name: 'AGENT_RUNTIME',
    kind: 'string',
    sentence:
      '`builtin`, `llm`, or the path of a module. If unset: `llm` if AGENT_MODEL is set, otherwise `builtin`.',
  },
  {
    name: 'AGENT_MODEL',
    kind: 'string',
    sentence: 'Model on the server at AGENT_BASE_URL, or `provider:model`.',
  },
  {
    name: 'AGENT_BASE_URL',
    kind: 'url',
    sentence: 'Address of an OpenAI-compatible server; it usually ends in /v1.',
  },
  { name: 'AGENT_API_KEY', kind: 'string', secret: true, sentence: 'Key for the model server.' },
  {
    name: 'AGENT_TEMPERATURE',
    kind: 'number',
    min: 0,
    max: 2,
    sentence: 'Temperature of the model. If unset, the model server decides.',
    example: '0.2',
  },
  {
    name: 'AGENT_MAX_OUTPUT_TOKENS',
    kind: 'integer',
    min: 1,
    max: 1_000_000,
    unit: 'tokens',
    sentence: 'Maximum length of the answer of one model call. If unset, the model server decides.',
    example: '1024',
  },
  {
    name: 'AGENT_HISTORY_TOKENS',
    kind: 'integer',
    min: 0,
    max: 1_000_000,
    default: 8000,
    unit: 'tokens',
    sentence:
      'Maximum size of the earlier conversation that the model gets. Older parts of a conversation with one person are summarized between messages.',
  },
  {
    name: 'AGENT_FALLBACK_MODEL',
    kind: 'string',
    sentence:
      'Answers while the model of AGENT_MODEL cannot be reached, is overloaded or fails: `builtin`, or another model, named as in AGENT_MODEL.',
  },
  {
    name: 'AGENT_FALLBACK_BASE_URL',
    kind: 'url',
    sentence: 'Address of the server of the fallback model. If unset, AGENT_BASE_URL.',
  },
  {
    name: 'AGENT_FALLBACK_API_KEY',
    kind: 'string',
    secret: true,
    sentence: 'Key for the server of the fallback model. If unset, AGENT_API_KEY.',
  },
  {
    name: 'AGENT_DAILY_TOKENS',
    kind: 'integer',
    min: 0,
    max: 1_000_000_000,
    default: 0,
    unit: 'tokens',
    sentence:
      'Tokens of the model that one person, or one address of anonymous clients, may use within 24 hours, on all channels together; 0 means no limit.',
  },
  {
    name: 'AGENT_INSTRUCTIONS',
    kind: 'string',
    sentence: 'Instructions for the agent: text, or the path of a text file.',
  },
  {
    name: 'AGENT_MAX_STEPS',
    kind: 'integer',
    min: 1,
    max: 50,
    default: 8,
    sentence: 'Maximum number of model calls in one run.',
  },
  {
    name: 'AGENT_TIMEOUT_SECONDS',
    kind: 'integer',
    min: 1,
    max: 600,
    default: 60,
    unit: 'seconds',
    sentence: 'Time limit of one run of the agent. A request whose run takes longer is answered 504.',
  },
  {
    name: 'AGENT_CONCURRENCY',
    kind: 'integer',
    min: 1,
    max: 10_000,
    default: 64,
    sentence: 'Maximum number of agent runs at the same time.',
  },
  {
    name: 'AGENT_QUEUE_MAX',
    kind: 'integer',
    min: 0,
    max: 100_000,
    default: 1000,
    sentence: 'Maximum number of messages that wait for a run; further ones are answered 503.',
  },
  {
    name: 'AGENT_QUEUE_WAIT_SECONDS',
    kind: 'integer',
    min: 1,
    max: 600,
    default: 30,
    unit: 'seconds',
    sentence: 'How long a message waits for a run before it is answered 503.',
  },
] as const satisfies readonly SettingRecord[];
