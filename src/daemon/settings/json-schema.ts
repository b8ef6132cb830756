import type { ChannelText, SettingRecord } from '../../channel/index.ts';
import { fileSetting } from '../../channel/setting.ts';
import { AGENTS_SCHEMA } from './agents-schema.ts';
import { type SettingGroup, textsSchema } from './reference.ts';
import { SOURCES_SCHEMA } from './tools-schema.ts';
import { rightForm } from './value.ts';

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
