import { RESERVED_CHANNEL_NAMES } from '../../../plugins/names.ts';

/** The channel of a case that names none. */
export const [DEFAULT_CHANNEL] = RESERVED_CHANNEL_NAMES;

const text = { type: 'string', minLength: 1 } as const;
const texts = { type: 'array', items: text } as const;
const pattern = {
  description: 'A regular expression, `/sign in/i` or without slashes; of a list, all must match.',
  anyOf: [text, { type: 'array', items: text, minItems: 1 }],
} as const;
const argumentsSchema = {
  type: 'object',
  description: 'Arguments that the call must have; it may have others.',
};

const stub = {
  type: 'object',
  additionalProperties: false,
  description: 'The answer of a tool to calls with these arguments, in place of the business system.',
  properties: {
    args: argumentsSchema,
    status: { type: 'integer', minimum: 100, maximum: 599, default: 200 },
    json: { description: 'The body of the answer, as JSON.' },
    text: { type: 'string', description: 'The body of the answer, as a text.' },
  },
};

const stubs = {
  type: 'object',
  description: 'For each tool, its answer, or a list of answers of which the first that fits is used.',
  additionalProperties: { anyOf: [stub, { type: 'array', items: stub, minItems: 1 }] },
};

const expectation = {
  type: 'object',
  additionalProperties: false,
  properties: {
    reply: {
      type: 'object',
      additionalProperties: false,
      properties: {
        matches: pattern,
        lacks: { ...texts, description: 'Texts that the reply must not contain, in upper or lower case.' },
      },
    },
    calls: {
      type: 'array',
      description:
        'The calls of the agent in this turn, in order: the name of a tool, or its name and arguments.',
      items: {
        anyOf: [
          text,
          {
            type: 'object',
            additionalProperties: false,
            required: ['tool'],
            properties: { tool: text, args: argumentsSchema },
          },
        ],
      },
    },
    asks: { type: 'boolean', description: 'Whether the reply ends with a question that asks to confirm.' },
  },
};

/** JSON Schema of the files of `agentd eval`: a list of cases. */
export const EVAL_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Cases of agentd eval',
  type: 'array',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'turns'],
    properties: {
      name: text,
      as: {
        description: 'Who speaks: `nobody`, or a person by the claims of the token.',
        default: 'nobody',
        anyOf: [
          { const: 'nobody' },
          {
            type: 'object',
            required: ['sub'],
            properties: { sub: text, email: text },
            additionalProperties: true,
          },
        ],
      },
      channel: { ...text, default: DEFAULT_CHANNEL },
      user: { ...text, description: 'The id of the user on the channel.' },
      at: { ...text, description: 'The time of the first message, ISO 8601; default: now.' },
      tools: {
        default: 'recorded',
        description:
          'What answers calls that no stub answers: the results under `recorded`, or the business system for reads as nobody (`live`).',
        anyOf: [
          { enum: ['recorded', 'live'] },
          { type: 'object', additionalProperties: false, required: ['stubs'], properties: { stubs } },
        ],
      },
      stubs,
      recorded: {
        type: 'array',
        description: 'Calls with the answers that the agent got, as `agentd eval add` writes them.',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['tool'],
          properties: { tool: text, args: { type: 'object' }, result: {}, error: { type: 'string' } },
        },
      },
      before: {
        type: 'array',
        description: 'What was said in the session before, oldest first.',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['say', 'reply'],
          properties: { say: text, reply: { type: 'string' } },
        },
      },
      remembered: { ...texts, description: 'What the agent remembers of the speaker.' },
      turns: {
        type: 'array',
        minItems: 1,
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['say'],
          properties: { say: text, expect: expectation },
        },
      },
      canaries: {
        ...texts,
        description: 'Data of other persons: the case fails if a reply, a prompt or a call contains one.',
      },
      repeat: { type: 'integer', minimum: 1, maximum: 1000, default: 1, description: 'All runs must pass.' },
      rubric: { ...texts, description: 'Criteria that AGENT_EVAL_MODEL judges if all else has passed.' },
    },
  },
} as const;
