import { NAME_FORM, TEXT } from './tools-schema.ts';

const ONE_OR_MORE = {
  anyOf: [TEXT, { type: 'array', items: TEXT, minItems: 1 }],
};

/** JSON Schema of the key `agents` of the configuration file, for editors. The reader checks with the same keys. */
export const AGENTS_SCHEMA = {
  title: 'agents',
  description:
    'Several agents. Each message is answered by the first one that fits; the last one fits always.',
  type: 'array',
  minItems: 1,
  items: {
    type: 'object',
    properties: {
      name: { type: 'string', pattern: NAME_FORM.source },
      instructions: {
        ...TEXT,
        description: 'Text, or the path of a text file. Default: AGENT_INSTRUCTIONS.',
      },
      tools: {
        type: 'array',
        items: TEXT,
        description: 'Names of its tools; others do not exist for it. Default: all.',
      },
      model: { ...TEXT, description: 'As in AGENT_MODEL, which is the default.' },
      memory: { type: 'boolean', default: true, description: 'Whether it remembers.' },
      when: {
        type: 'object',
        minProperties: 1,
        properties: {
          channel: { ...ONE_OR_MORE, description: 'Names of channels.' },
          tenant_id: { ...ONE_OR_MORE, description: 'Values of this claim of a valid token.' },
          workspace: { ...ONE_OR_MORE, description: 'Ids of workspaces of the platform.' },
          locale: { ...ONE_OR_MORE, description: 'Languages; `de` also fits `de-AT`.' },
        },
        additionalProperties: false,
      },
      canary: {
        type: 'object',
        properties: { percent: { type: 'number', minimum: 0, maximum: 100 } },
        required: ['percent'],
        additionalProperties: false,
        description: 'The share of persons whom it answers.',
      },
    },
    required: ['name'],
    additionalProperties: false,
  },
};
