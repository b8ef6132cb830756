import type { ChannelText, SettingRecord } from '../../channel/index.ts';
import { type SettingGroup, textsSchema } from './reference.ts';
import { NAME_FORM, SOURCES_SCHEMA, TEXT } from './tools-schema.ts';
import { fileSetting, rightForm } from './value.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * JSON Schema (draft 2020-12) of the configuration file, for editors and other programs. Nothing in it is required,
 * since each setting may come from the environment instead. If the daemon does not start without a setting, the
 * description of the setting says so. Secrets are `writeOnly`.
 */
export function settingsSchema(
  groups: readonly SettingGroup[],
  texts: readonly ChannelText[] = [],
): JsonSchema {
  const settings = groups.flatMap(({ records }) =>
    records.flatMap((record) => [
      [record.name, settingSchema(record)],
      ...(record.secret ? [[fileSetting(record.name), fileProperty(record)]] : []),
    ]),
  );
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'agentd configuration',
    description:
      'Settings of agentd. Each can also be set in the environment or in .env, under the same name; the environment has priority.',
    type: 'object',
    properties: {
      $schema: { type: 'string', description: 'This schema, for editors.' },
      ...Object.fromEntries(settings),
      plugins: PLUGINS,
      tools: SOURCES_SCHEMA,
      agents: AGENTS_SCHEMA,
      texts: textsSchema(texts),
    },
    additionalProperties: false,
  };
}

const PLUGINS: JsonSchema = {
  title: 'plugins',
  description:
    'Channels in addition to the bundled ones: paths relative to this file, or names of installed packages.',
  type: 'array',
  default: [],
  items: {
    anyOf: [
      { type: 'string', minLength: 1 },
      {
        type: 'object',
        properties: {
          path: { type: 'string', minLength: 1, description: 'A path, or the name of a package.' },
          name: { type: 'string', description: 'The name that the channel must have.' },
        },
        required: ['path'],
        additionalProperties: false,
      },
    ],
  },
};

export function settingSchema(record: SettingRecord): JsonSchema {
  return {
    title: record.name,
    description: record.required
      ? `${record.sentence} Required, here or in the environment.`
      : record.sentence,
    ...form(record),
    ...(record.default === undefined ? {} : { default: record.default }),
    ...(record.example === undefined ? {} : { examples: [record.example] }),
    ...(record.secret ? { writeOnly: true } : {}),
  };
}

function fileProperty({ name }: SettingRecord): JsonSchema {
  return {
    title: fileSetting(name),
    description: `Path of a file that contains ${name}, relative to the configuration file.`,
    type: 'string',
    minLength: 1,
  };
}

function form(record: SettingRecord): JsonSchema {
  switch (record.kind) {
    case 'string':
      if (record.several) return { type: ['string', 'array'], items: { type: 'string' } };
      return { type: 'string', ...(record.pattern ? { pattern: record.pattern.source } : {}) };
    case 'integer':
    case 'number':
      return { type: record.kind, minimum: record.min, maximum: record.max };
    case 'boolean':
      return { type: 'boolean' };
    case 'choice':
      return { type: 'string', enum: record.choices };
    case 'list':
      return { type: ['array', 'string'], items: { type: 'string' }, $comment: rightForm(record) };
    case 'url':
      return { type: 'string', format: 'uri', pattern: '^https?://' };
  }
}

const ONE_OR_MORE: JsonSchema = {
  anyOf: [TEXT, { type: 'array', items: TEXT, minItems: 1 }],
};

/**
 * JSON Schema of the key `agents` of the configuration file (src/daemon/settings/configure/agent-entries.ts checks it).
 */
const AGENTS_SCHEMA: JsonSchema = {
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
